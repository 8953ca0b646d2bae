#include "sim/checkers/jobs.h"

#include <algorithm>

#include "core/lifecycle.h"
#include "sim/checkers/violation.h"

namespace keel::sim {

namespace {

bool ends_a_job(const JobEvent& event) {
  return std::holds_alternative<Succeeded>(event) || std::holds_alternative<Failed>(event) ||
         std::holds_alternative<Canceled>(event) || std::holds_alternative<Expired>(event) ||
         std::holds_alternative<Rejected>(event) || std::holds_alternative<LateSucceeded>(event);
}

}  // namespace

void JobChecker::program_ended(const TaskKey& key, const Exit& exit) {
  if (exit.kind == ExitKind::exited && exit.code == 0) ended_well_.insert(key);
}

// What does not follow from the table, or must not rest on it.
void JobChecker::look_before(const Job& job, const JobEvent& event, const std::string& what) {
  if (ends_a_job(event)) expect(over_.insert(job.id).second, "I8", what + ", and it was over");
  if (std::holds_alternative<Launched>(event)) {
    expect(std::ranges::all_of(job.tasks,
                               [](const Task& task) { return task.state == TaskState::prepared; }),
           "I10", what + " though a task is not prepared");
  }
  if (std::holds_alternative<Succeeded>(event)) {
    for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
      const TaskKey key{job.id, job.attempt, rank};
      expect(ended_well_.contains(key), "I9", what + ", and " + print(key) + " did not");
    }
  }
  if (const auto* requeued = std::get_if<Requeued>(&event)) {
    const bool own = requeued->reason == Reason::program_failed;
    expect(!own || ++failures_[job.id] <= job.retries, "B-G9",
           what + " after " + std::to_string(failures_[job.id]) + " failures");
  }
  if (const auto* voided = std::get_if<Voided>(&event)) {
    expect(
        disks_fill_ || voided->token <= last_of_copy_ || !voided->text.ends_with("a later token"),
        "I3", what + ": its own token is refused as an old one");
  }
}

void JobChecker::look_at_reservations(Instant at, const ModelRows& rows) const {
  if (rows.settling) return;
  for (const JobId id : reserved_) {
    expect(jobs_.at(id).claim_by > at, "B-E17", print(id) + " is reserved, and its time is over");
  }
}

void JobChecker::fold(const JobFact& fact, Instant at) {
  const std::string what = print(fact.job) + " " + std::string(name_of(fact.event));
  if (const auto* submitted = std::get_if<Submitted>(&fact.event)) {
    expect(!jobs_.contains(fact.job), "I9", what + " twice");
    jobs_.emplace(fact.job, create(fact.job, at, *submitted));
    return;
  }
  const auto found = jobs_.find(fact.job);
  expect(found != jobs_.end(), "I9", what + " before its submission");
  Job& job = found->second;
  const JobState before = job.state;
  look_before(job, fact.event, what);
  const auto applied = apply(job, at, fact.event);
  expect(applied.has_value(), "I9", what + " in state " + std::string(print(before)));
  if (job.state == before) return;
  if (job.state == JobState::reserved) reserved_.insert(job.id);
  if (before == JobState::reserved) reserved_.erase(job.id);
  expect(!is_terminal(before), "I8", what + " leaves " + std::string(print(before)));
  ++transitions_[std::string(print(before)) + " " + std::string(print(job.state))];
}

void JobChecker::appended(Epoch epoch, const Batch& batch, const ModelRows& rows) {
  expect(epoch >= epoch_, "I3",
         "epoch " + std::to_string(epoch.value) + " writes after " + std::to_string(epoch_.value));
  epoch_ = epoch;
  for (const StoredEvent& event : batch.events) {
    seq_.value += 1;
    expect(event.seq == seq_, "I9",
           "event " + std::to_string(event.seq.value) + " is out of order");
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) fold(*fact, event.at);
    if (const auto* fact = std::get_if<NodeFact>(&event.fact)) {
      if (const auto* reported = std::get_if<NodeReported>(&fact->event)) {
        nodes_[fact->node].inventory = reported->inventory;
      }
    }
  }
  if (!batch.events.empty()) look_at_reservations(batch.events.back().at, rows);
  for (const Job& row : batch.jobs) {
    const auto folded = jobs_.find(row.id);
    expect(folded != jobs_.end(), "I6", print(row.id) + " has a row and no event");
    expect(folded->second == row, "I24", print(row.id) + ": its row is not what its events say");
    expect(rows.specs.contains(row.spec), "I6", print(row.id) + " has no spec");
    const auto key = rows.keys.find({row.owner.user, row.key});
    const bool named = row.key.empty() || (key != rows.keys.end() && key->second == row.id);
    expect(named, "I6", print(row.id) + " is not found by its key");
  }
}

void JobChecker::recovered(const State& state, const ModelRows& rows) const {
  expect(state.seq() == seq_, "I24", "the log ends elsewhere");
  expect(rows.jobs.size() == jobs_.size(), "I5", "a job is gone");
  for (const auto& [id, job] : jobs_) {
    expect(rows.jobs.at(id) == job, "I24", print(id) + ": the stored row is another");
    const Job* const loaded = state.find(id);
    expect((loaded != nullptr) == needs_memory(job), "I24", print(id) + ": is or is not in memory");
    expect(loaded == nullptr || *loaded == job, "I24", print(id) + ": is another in memory");
  }
  for (const auto& [id, node] : nodes_) {
    const Node* const loaded = state.find(id);
    expect(loaded != nullptr && loaded->inventory == node.inventory, "I24",
           id.name + " is another");
  }
}

void JobChecker::put_back(const JobChecker& then, FencingToken last_of_copy) {
  auto ended_well = std::move(ended_well_);
  auto transitions = std::move(transitions_);
  *this = then;
  ended_well_ = std::move(ended_well);
  transitions_ = std::move(transitions);
  last_of_copy_ = last_of_copy;
}

bool JobChecker::all_over() const { return unfinished().empty(); }

std::string JobChecker::unfinished() const {
  const auto open =
      std::ranges::find_if(jobs_, [](const auto& one) { return needs_memory(one.second); });
  if (open == jobs_.end()) return "";
  std::string text = print(open->first) + " is " + std::string(print(open->second.state));
  for (const Task& task : open->second.tasks) {
    text += ", " + std::string(print(task.state)) + " on " + task.node.name;
  }
  return text;
}

}  // namespace keel::sim
