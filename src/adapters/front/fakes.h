// For tests of the doors: records, files and agents' logs in memory, and a thread that takes turns.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "adapters/front/agent_logs.h"
#include "adapters/front/files.h"
#include "adapters/front/front.h"
#include "adapters/inbox/inbox.h"
#include "ports/records.h"
#include "wire/spec.h"

namespace keel::fake {

class SteadyClock final : public Clock {
 public:
  Instant now() override {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
  }
};

inline JobSpec complete(const SaidSpec& said) {
  JobSpec spec{said.name.value_or("job"),
               said.labels,
               said.program,
               said.args,
               said.env,
               said.files,
               {},
               {},
               {},
               hours(1),
               seconds(30),
               15,
               0,
               {}};
  spec.gang.tasks = said.gang.tasks.value_or(1);
  spec.gang.gpus_per_task = said.gang.gpus_per_task.value_or(0);
  return spec;
}

class MemoryRecords final : public Records {
 public:
  Result<std::optional<JobRecord>, StoreError> job(JobId id) override {
    std::lock_guard lock(mutex_);
    if (broken) return down();
    auto found = jobs_.find(id);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::vector<JobRecord>, StoreError> jobs(const JobFilter& filter) override {
    std::lock_guard lock(mutex_);
    if (broken) return down();
    std::vector<JobRecord> found;
    for (auto at = jobs_.rbegin(); at != jobs_.rend() && found.size() < filter.limit; ++at) {
      const Job& job = at->second.job;
      bool state = filter.states.empty();
      for (JobState wanted : filter.states) state = state || wanted == job.state;
      bool user = filter.user.empty() || filter.user == job.owner.user;
      if (state && user && (!filter.before || job.id < *filter.before)) found.push_back(at->second);
    }
    return found;
  }
  Result<std::vector<StoredEvent>, StoreError> events(JobId job, Seq after,
                                                      std::size_t limit) override {
    std::lock_guard lock(mutex_);
    if (broken) return down();
    if (after < cut) return StoreError{StoreError::Code::cut, "a secret", Seq{cut.value + 1}};
    std::vector<StoredEvent> found;
    for (const StoredEvent& event : events_) {
      const auto* fact = std::get_if<JobFact>(&event.fact);
      bool wanted = fact && fact->job == job && event.seq > after;
      if (wanted && found.size() < limit) found.push_back(event);
    }
    return found;
  }
  Result<std::vector<StoredEvent>, StoreError> log(Seq, std::size_t) override { return events_; }
  Result<std::vector<Node>, StoreError> nodes() override {
    std::lock_guard lock(mutex_);
    if (broken) return down();
    return nodes_;
  }
  Result<std::vector<Holding>, StoreError> holdings() override {
    std::lock_guard lock(mutex_);
    if (broken) return down();
    return holdings_;
  }

  // What a commit would have written.
  Seq commit(const JobRecord& record, JobEvent event) {
    std::lock_guard lock(mutex_);
    jobs_.insert_or_assign(record.job.id, record);
    events_.push_back({Seq{events_.size() + 1}, {1}, JobFact{record.job.id, std::move(event)}});
    return events_.back().seq;
  }
  void set_fleet(std::vector<Node> nodes, std::vector<Holding> holdings) {
    std::lock_guard lock(mutex_);
    nodes_ = std::move(nodes);
    holdings_ = std::move(holdings);
  }
  std::size_t job_count() {
    std::lock_guard lock(mutex_);
    return jobs_.size();
  }

  std::atomic<bool> broken{};
  Seq cut{};  // before the first request only

 private:
  static StoreError down() { return {StoreError::Code::unavailable, "a secret of the store"}; }

  std::mutex mutex_;
  std::map<JobId, JobRecord> jobs_;
  std::vector<StoredEvent> events_;
  std::vector<Node> nodes_;
  std::vector<Holding> holdings_;
};

class MemoryFiles final : public Files {
 public:
  bool has(const Digest& digest) override {
    std::lock_guard lock(mutex_);
    return files_.contains(digest);
  }
  Result<Digest, FilesError> put(std::string_view content) override {
    std::lock_guard lock(mutex_);
    if (full) return FilesError{FilesError::Code::full, ""};
    Digest digest = sha256(content);
    files_[digest] = std::string(content);
    return digest;
  }
  Result<std::string, FilesError> read(const Digest& digest, std::int64_t offset,
                                       std::size_t limit) override {
    std::lock_guard lock(mutex_);
    auto found = files_.find(digest);
    if (found == files_.end()) return FilesError{FilesError::Code::not_found, ""};
    auto from = std::min(static_cast<std::size_t>(offset), found->second.size());
    return found->second.substr(from, limit);
  }

  std::atomic<bool> full{};

 private:
  std::mutex mutex_;
  std::map<Digest, std::string> files_;
};

// Answers as it is told to; by default no agent is connected.
class ScriptedLogs final : public AgentLogs {
 public:
  using Script =
      std::function<Result<std::optional<v1::ReadLogResponse>, LogFailure>(const LogQuestion&)>;

  void read_log(const NodeId& node, const LogQuestion& question, Answered answered) override {
    Result<std::optional<v1::ReadLogResponse>, LogFailure> answer = LogFailure::not_connected;
    {
      std::lock_guard lock(mutex_);
      nodes_.push_back(node);
      if (script_) answer = script_(question);
    }
    answered(std::move(answer));
  }
  void set(Script script) {
    std::lock_guard lock(mutex_);
    script_ = std::move(script);
  }
  std::vector<NodeId> asked_nodes() {
    std::lock_guard lock(mutex_);
    return nodes_;
  }

 private:
  std::mutex mutex_;
  Script script_;
  std::vector<NodeId> nodes_;
};

// Stands in for control/: takes inputs, makes jobs of submissions, answers. Agents' inputs are kept
// for the test to look at.
class TurnLoop {
 public:
  TurnLoop(Inbox& inbox, MemoryRecords& records)
      : inbox_(inbox), records_(records), thread_([this] { run(); }) {}
  ~TurnLoop() { stop(); }

  void stop() {
    stopping_ = true;
    inbox_.wake();
    if (thread_.joinable()) thread_.join();
  }

  // A change of a job, committed and told.
  void change(
      JobId id, JobEvent event, const std::function<void(Job&)>& edit = [](Job&) {}) {
    auto found = records_.job(id);
    JobRecord record = **found;
    edit(record.job);
    inbox_.committed(records_.commit(record, std::move(event)), {id});
  }

  // Waits for the next input of an agent; nothing within five seconds.
  std::optional<Input> next_agent_input() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::seconds(5), [this] { return !from_agents_.empty(); });
    if (from_agents_.empty()) return std::nullopt;
    Input input = std::move(from_agents_.front());
    from_agents_.erase(from_agents_.begin());
    return input;
  }

  std::atomic<bool> store_down{};
  std::atomic<bool> paused{};  // takes nothing

 private:
  void run() {
    while (!stopping_) {
      if (paused) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      for (Input& input : inbox_.take(256, clock_.now() + milliseconds(20))) {
        std::visit([this](auto& heard) { hear(heard); }, input);
      }
    }
  }

  void hear(SubmitInput& input) {
    if (store_down) return inbox_.answer({input.ticket, NotStored{"down"}});
    SubmitKey key{input.owner.user, input.key};
    if (auto made = keys_.find(key); !input.key.empty() && made != keys_.end()) {
      if (made->second.second != input.said) {
        return inbox_.answer({input.ticket, KeyConflict{made->second.first}});
      }
      return inbox_.answer({input.ticket, SubmitAnswer{made->second.first, true}});
    }
    JobRecord record;
    record.job.id = JobId{++last_job_};
    record.job.owner = input.owner;
    record.job.key = input.key;
    record.job.said = input.said;
    record.job.spec = input.spec_digest;
    record.job.shape.gang = input.spec.gang;
    record.job.state = JobState::queued;
    record.spec = input.spec;
    keys_[key] = {record.job.id, input.said};
    Seq seq = records_.commit(
        record, Submitted{input.owner, input.key, input.said, input.spec_digest, record.job.shape,
                          hours(1), seconds(30), 0, std::nullopt});
    inbox_.committed(seq, {record.job.id});
    inbox_.answer({input.ticket, SubmitAnswer{record.job.id, false}});
  }
  void hear(CancelInput& input) {
    if (store_down) return inbox_.answer({input.ticket, NotStored{"down"}});
    change(input.job, Canceled{}, [](Job& job) { job.state = JobState::canceled; });
    inbox_.answer({input.ticket, CancelAnswer{input.job, JobState::canceled}});
  }
  void hear(ReasonsInput& input) {
    ReasonsAnswer answer;
    for (JobId job : input.jobs) answer.reasons.emplace_back(job, Reason::no_free_gpus);
    inbox_.answer({input.ticket, std::move(answer)});
  }
  template <class FromAgent>
  void hear(FromAgent& input) {
    std::lock_guard lock(mutex_);
    from_agents_.push_back(std::move(input));
    arrived_.notify_all();
  }

  Inbox& inbox_;
  MemoryRecords& records_;
  SteadyClock clock_;
  std::uint64_t last_job_{};
  std::map<SubmitKey, std::pair<JobId, Digest>> keys_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Input> from_agents_;
  std::atomic<bool> stopping_{};
  std::thread thread_;
};

// Everything behind the doors. `logs` may be replaced by real sessions.
struct Service {
  SteadyClock clock;
  Timer timer;
  Feed feed{timer};
  Inbox inbox{clock, feed};
  MemoryRecords records;
  MemoryFiles files;
  ScriptedLogs scripted_logs;
  Front front;
  TurnLoop turns{inbox, records};

  explicit Service(std::optional<Owner> token_owner = Owner{"ops", 4242, 4242},
                   AgentLogs* logs = nullptr)
      : front({inbox, feed, timer, records, files, logs ? *logs : scripted_logs, complete,
               std::move(token_owner)}) {}
  ~Service() { stop(); }

  // As the end of keeld: whoever waits is answered, and nothing runs afterwards.
  void stop() {
    inbox.close();
    feed.close();
    turns.stop();
    timer.stop();
  }
};

}  // namespace keel::fake
