// A control plane of the tests' own: the users' service over a Unix socket, with one job whose life
// the test writes.
#pragma once

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keel/v1/api.grpc.pb.h"
#include "wire/convert.h"
#include "wire/spec.h"
#include "wire/tree.h"

namespace keel::fake {

inline grpc::Status refusal(grpc::StatusCode status, const std::string& code,
                            const std::string& field, const std::string& help) {
  v1::ApiError error;
  error.set_code(code);
  error.set_field(field);
  error.set_help(help);
  return {status, help, print_json(error)};
}

class FakeUsers final : public v1::Users::Service {
 public:
  // What the next calls of a method give instead of an answer; each is used once.
  std::vector<grpc::Status> submit_failures;
  std::vector<grpc::Status> log_failures;
  bool drops_lines{};                               // every part of a log begins with a gap
  std::map<std::uint32_t, grpc::Status> lost_logs;  // by attempt: what every reading of it gives

  std::vector<v1::SubmitRequest> submitted;
  std::map<std::string, std::string> files;  // by digest
  std::vector<std::string> canceled;
  v1::JobView view;
  std::vector<v1::Event> events;
  std::map<std::uint32_t, std::vector<v1::LogLine>> logs;  // by task
  std::string authorization;

  std::mutex mutex;

  grpc::Status Submit(grpc::ServerContext* call, const v1::SubmitRequest* request,
                      v1::SubmitResponse* answer) override {
    std::lock_guard lock(mutex);
    const auto sent = call->client_metadata().find("authorization");
    if (sent != call->client_metadata().end()) {
      authorization = std::string(sent->second.data(), sent->second.size());
    }
    const bool existing = !submitted.empty() && submitted.back().key() == request->key();
    submitted.push_back(*request);
    if (auto failure = take(submit_failures)) return *failure;
    answer->set_job(view.job().id());
    answer->set_existing(existing);
    return grpc::Status::OK;
  }

  grpc::Status PutFile(grpc::ServerContext*, const v1::PutFileRequest* request,
                       v1::PutFileResponse* answer) override {
    std::lock_guard lock(mutex);
    answer->set_digest(print(sha256(request->content())));
    files[answer->digest()] = request->content();
    return grpc::Status::OK;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::JobView* answer) override {
    std::lock_guard lock(mutex);
    if (request->job() != "last" && request->job() != view.job().id()) {
      return refusal(grpc::StatusCode::NOT_FOUND, "not_found", "job", "There is no such job.");
    }
    *answer = view;
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                        v1::ListJobsResponse* answer) override {
    std::lock_guard lock(mutex);
    *answer->add_jobs() = view;
    return grpc::Status::OK;
  }

  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest* request,
                         v1::CancelJobResponse* answer) override {
    std::lock_guard lock(mutex);
    canceled.push_back(request->job());
    answer->set_job(view.job().id());
    answer->set_state(is_over_now() ? view.job().state() : v1::CANCELED);
    if (!is_over_now()) end(JobEvent{Canceled{}});
    return grpc::Status::OK;
  }

  grpc::Status ListEvents(grpc::ServerContext*, const v1::ListEventsRequest* request,
                          v1::ListEventsResponse* answer) override {
    std::lock_guard lock(mutex);
    answer->set_next(request->after());
    answer->set_state(view.job().state());
    for (const v1::Event& event : events) {
      if (event.seq() <= request->after() || answer->events_size() == 2) continue;
      *answer->add_events() = event;  // two a page, so that pages are turned
      answer->set_next(event.seq());
    }
    return grpc::Status::OK;
  }

  grpc::Status ReadLog(grpc::ServerContext*, const v1::ReadLogRequest* request,
                       v1::ReadLogResponse* answer) override {
    std::lock_guard lock(mutex);
    if (auto failure = take(log_failures)) return *failure;
    const auto lost = lost_logs.find(request->attempt());
    if (lost != lost_logs.end()) return lost->second;
    const auto& lines = logs[request->task()];
    const auto first = static_cast<std::size_t>(request->offset());
    for (std::size_t i = first; i < std::min(lines.size(), first + 2); ++i) {
      *answer->add_lines() = lines[i];
    }
    answer->set_next(request->offset() + answer->lines_size());
    answer->set_dropped(drops_lines);
    answer->set_end(is_over_now() && static_cast<std::size_t>(answer->next()) == lines.size());
    return grpc::Status::OK;
  }

  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse*) override {
    return grpc::Status::OK;
  }

  // Adds an event a second after the one before it, and makes the view follow.
  void add(const JobEvent& event, const std::function<void(v1::Job&)>& change = {}) {
    std::lock_guard lock(mutex);
    append(event);
    if (change) change(*view.mutable_job());
  }

 private:
  static std::optional<grpc::Status> take(std::vector<grpc::Status>& failures) {
    if (failures.empty()) return std::nullopt;
    grpc::Status first = failures.front();
    failures.erase(failures.begin());
    return first;
  }

  bool is_over_now() const { return view.job().state() >= v1::SUCCEEDED; }

  void append(const JobEvent& event) {
    const Seq seq{events.size() + 1};
    const Instant at = Instant{} + seconds(static_cast<std::int64_t>(1'700'000'000 + seq.value));
    events.push_back(to_pb(StoredEvent{seq, at, JobFact{*parse_job_id(view.job().id()), event}}));
  }

  void end(const JobEvent& event) {
    append(event);
    view.mutable_job()->set_state(v1::CANCELED);
  }
};

// The service on a socket in a directory of its own, both gone at the end.
class FakeServer {
 public:
  FakeServer() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-cli-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    start();
  }
  ~FakeServer() {
    stop();
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  void start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&users);
    builder.SetMaxReceiveMessageSize(-1);
    server_ = builder.BuildAndStart();
  }
  void stop() {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  std::string address() const { return "unix:" + (directory_ / "s").string(); }
  const std::filesystem::path& directory() const { return directory_; }

  FakeUsers users;

 private:
  std::filesystem::path directory_;
  std::unique_ptr<grpc::Server> server_;
};

// One line of a task's output.
inline v1::LogLine line(std::int64_t at_us, const std::string& text, bool error = false,
                        bool partial = false) {
  v1::LogLine line;
  line.set_at_us(at_us);
  line.set_text(text);
  line.set_error(error);
  line.set_partial(partial);
  return line;
}

// A job of `tasks` tasks that has been submitted.
inline v1::JobView submitted_job(FakeUsers& users, std::uint32_t tasks) {
  users.view.mutable_job()->set_id(print(JobId{42}));
  users.view.mutable_job()->set_state(v1::ACCEPTED);
  users.view.mutable_job()->mutable_shape()->set_tasks(tasks);
  users.view.mutable_spec()->set_name("digits");
  Submitted event{};
  event.shape.gang.tasks = tasks;
  users.add(event);
  return users.view;
}

}  // namespace keel::fake
