#include "core/state.h"

#include <algorithm>

#include "base/check.h"
#include "base/plant.h"

namespace keel {
namespace {

const std::map<JobId, std::uint32_t> no_jobs;
const NodeUse no_use;

Place place_of(const Job& job) { return {job.submitted, job.id}; }

// The one task that an event speaks of, or nothing.
std::optional<std::uint32_t> task_of(const JobEvent& event) {
  return std::visit(
      [](const auto& one) -> std::optional<std::uint32_t> {
        if constexpr (requires { one.task; }) return one.task;
        return std::nullopt;
      },
      event);
}

// Whether an event may change the tasks of a job all at once.
bool changes_all_tasks(const JobEvent& event) {
  return std::holds_alternative<Reserved>(event) || std::holds_alternative<Voided>(event) ||
         std::holds_alternative<Succeeded>(event) || std::holds_alternative<Failed>(event) ||
         std::holds_alternative<Requeued>(event) || std::holds_alternative<Canceled>(event);
}

bool is_over(const Job& job) {
  return is_terminal(job.state) && std::ranges::all_of(job.tasks, [](const Task& task) {
           return task.state == TaskState::settled;
         });
}

}  // namespace

Instant wake_at(const Job& job) {
  const Instant deadline = job.start_deadline ? job.submitted + *job.start_deadline : never;
  switch (job.state) {
    case JobState::accepted: return deadline;
    case JobState::queued:
      return job.not_before > job.since ? std::min(job.not_before, deadline) : deadline;
    case JobState::reserved: return job.claim_by;
    case JobState::launching:
    case JobState::running:
    case JobState::finishing:
    case JobState::preempting:
    case JobState::unknown:
    case JobState::succeeded:
    case JobState::failed:
    case JobState::canceled:
    case JobState::expired:
    case JobState::rejected: return never;
  }
  check(false, "every state wakes or does not");
  return never;
}

void State::restore(Job job) {
  check(seq_.value == 0, "recovery comes before events");
  const JobId id = job.id;
  const auto [at, fresh] = jobs_.emplace(id, std::move(job));
  check(fresh, "a job is restored once");
  const Span all{0, static_cast<std::uint32_t>(at->second.tasks.size())};
  reindex(at->second, Before{.wake = never}, all);
  holding_changes_.clear();
}

void State::restore(Node node) {
  check(seq_.value == 0, "recovery comes before events");
  const NodeId id = node.inventory.id;
  uses_[id];
  move_foreign(node, true);
  nodes_.emplace(id, std::move(node));
}

void State::restore(Seq seq, Instant at, FencingToken last_token, std::vector<LostTokens> lost) {
  seq_ = seq;
  at_ = at;
  last_token_ = last_token;
  lost_ = std::move(lost);
}

bool State::was_given(FencingToken token) const {
  return token <= last_token_ && std::ranges::none_of(lost_, [&](const LostTokens& lost) {
           return lost.after < token && token <= lost.up_to;
         });
}

void State::move_foreign(const Node& node, bool seen) {
  for (const ForeignTask& task : node.foreign) {
    if (seen) {
      ++foreign_jobs_[task.key.job];
    } else if (--foreign_jobs_.at(task.key.job) == 0) {
      foreign_jobs_.erase(task.key.job);
    }
  }
}

State State::rebuilt() const {
  State fresh;
  for (const auto& [id, node] : nodes_) fresh.restore(node);
  for (const auto& [id, job] : jobs_) fresh.restore(job);
  fresh.restore(seq_, at_, last_token_, lost_);
  fresh.schedule_version_ = schedule_version_;
  fresh.woken_ = woken_;
  // No job tells whether its wake was given.
  for (const Wake& wake : std::set(fresh.wakes_)) {
    if (wake.first <= woken_ && !wakes_.contains(wake)) fresh.drop_wake(wake, woken_);
  }
  return fresh;
}

void State::log_one(Instant at) {
  check(at >= at_, "events are made in time order");
  at_ = at;
  seq_.value += 1;
}

Result<Done, TransitionError> State::apply(Instant at, const JobFact& fact) {
  const auto found = jobs_.find(fact.job);
  if (const auto* submitted = std::get_if<Submitted>(&fact.event)) {
    if (found != jobs_.end()) return TransitionError::impossible;
    log_one(at);
    const auto made = jobs_.emplace(fact.job, create(fact.job, at, *submitted)).first;
    reindex(made->second, Before{.wake = never}, {});
    return Done{};
  }
  if (found == jobs_.end()) return TransitionError::stale;  // over, hence forgotten
  Job& job = found->second;
  if (const auto* reserved = std::get_if<Reserved>(&fact.event)) {
    if (reserved->token <= last_token_) return TransitionError::impossible;
  }
  Span span;
  if (const auto task = task_of(fact.event); task && *task < job.tasks.size()) {
    span = {*task, *task + 1};
  } else if (changes_all_tasks(fact.event)) {
    span = {0, static_cast<std::uint32_t>(job.tasks.size())};
  }
  const Before before = look(job, span);
  const auto applied = keel::apply(job, at, fact.event);
  if (!applied) return applied;
  log_one(at);
  last_token_ = std::max(last_token_, job.token);
  if (std::holds_alternative<Reserved>(fact.event)) {
    // The tasks are new; those of the attempt before were settled and hold nothing.
    span = {0, static_cast<std::uint32_t>(job.tasks.size())};
    reindex(job, Before{.queued = before.queued, .wake = before.wake}, span);
  } else {
    reindex(job, before, span);
  }
  return applied;
}

void State::apply(Instant at, const NodeFact& fact) {
  log_one(at);
  schedule_version_ += 1;
  uses_[fact.node];
  if (const auto* reported = std::get_if<NodeReported>(&fact.event)) {
    Node& node = nodes_[fact.node];
    node.inventory = reported->inventory;
    if (node.since == Instant{}) node.since = at;
    return;
  }
  const auto node = nodes_.find(fact.node);
  check(node != nodes_.end(), "a node is reported before anything is said of it");
  if (const auto* seen = std::get_if<ForeignSeen>(&fact.event)) {
    move_foreign(node->second, false);
    node->second.foreign = seen->tasks;
    move_foreign(node->second, true);
    return;
  }
  const bool silent = std::holds_alternative<NodeSilenced>(fact.event);
  node->second.state = silent ? NodeState::unreachable : NodeState::ready;
  node->second.since = at;
}

State::Before State::look(const Job& job, Span span) {
  Before before{.queued = job.state == JobState::queued, .wake = wake_at(job)};
  for (std::uint32_t rank = span.first; rank < span.last; ++rank) {
    before.open.push_back(job.tasks[rank].state != TaskState::settled);
    before.held.push_back(holds_devices(job.tasks[rank]));
  }
  return before;
}

void State::reindex(const Job& job, const Before& before, Span span) {
  const bool queued = job.state == JobState::queued;
  if (queued != before.queued) {
    schedule_version_ += 1;
    if (queued) line_.insert(place_of(job));
    if (!queued) line_.erase(place_of(job));
  }
  if (const Instant wake = wake_at(job); wake != before.wake) {
    if (before.wake != never) wakes_.erase({before.wake, job.id});
    if (wake != never) wakes_.insert({wake, job.id});
  }
  for (std::uint32_t rank = span.first; rank < span.last; ++rank) {
    const std::size_t i = rank - span.first;
    const bool held = i < before.held.size() && before.held[i];
    const bool open = i < before.open.size() && before.open[i];
    reindex(job, rank, held, open);
  }
}

void State::reindex(const Job& job, std::uint32_t rank, bool held_before, bool open_before) {
  const Task& task = job.tasks[rank];
  const bool open = task.state != TaskState::settled;
  if (open && !open_before) jobs_on_[task.node][job.id] += 1;
  if (!open && open_before) {
    auto& on_node = jobs_on_[task.node];
    const auto count = on_node.find(job.id);
    check(count != on_node.end(), "an open task is counted on its node");
    if (--count->second == 0) on_node.erase(count);
  }
  if (planted(Plant::devices_never_freed) && job.state == JobState::queued) return;
  if (holds_devices(task) != held_before) move_devices(job, rank, !held_before);
}

void State::move_devices(const Job& job, std::uint32_t rank, bool taken) {
  const Task& task = job.tasks[rank];
  const TaskKey key{job.id, job.attempt, rank};
  NodeUse& use = uses_[task.node];
  const std::int64_t sign = taken ? 1 : -1;
  if (job.shape.cpu_per_task) use.cpu.count += sign * job.shape.cpu_per_task->count;
  if (job.shape.memory_per_task) use.memory.count += sign * job.shape.memory_per_task->count;
  if (rank == 0 && taken) use.ports.insert(task.port);
  if (rank == 0 && !taken) use.ports.erase(task.port);
  for (const DeviceId& device : task.devices) {
    const bool moved =
        taken ? use.devices.emplace(device, key).second : use.devices.erase(device) == 1;
    check(moved, "a device is in at most one live reservation");
    holding_changes_.push_back({device, taken, key, job.token});
  }
  if (!taken) schedule_version_ += 1;
}

std::vector<HoldingChange> State::take_holding_changes() {
  return std::exchange(holding_changes_, {});
}

void State::forget_if_over(JobId id) {
  const auto job = jobs_.find(id);
  if (job != jobs_.end() && is_over(job->second)) jobs_.erase(job);
}

const Job* State::find(JobId id) const {
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : &job->second;
}

const Node* State::find(const NodeId& id) const {
  const auto node = nodes_.find(id);
  return node == nodes_.end() ? nullptr : &node->second;
}

const NodeUse& State::use_of(const NodeId& node) const {
  const auto use = uses_.find(node);
  return use == uses_.end() ? no_use : use->second;
}

const std::map<JobId, std::uint32_t>& State::jobs_on(const NodeId& node) const {
  const auto jobs = jobs_on_.find(node);
  return jobs == jobs_on_.end() ? no_jobs : jobs->second;
}

Instant State::next_wake() const { return wakes_.empty() ? never : wakes_.begin()->first; }

std::vector<JobId> State::take_woken(Instant now) {
  std::vector<JobId> woken;
  woken_ = std::max(woken_, now);
  while (!wakes_.empty() && wakes_.begin()->first <= now) {
    woken.push_back(wakes_.begin()->second);
    drop_wake(*wakes_.begin(), now);
    schedule_version_ += 1;  // a back-off may be over
  }
  return woken;
}

// What was given at `now`. A job whose back-off is over may still wait for its deadline.
void State::drop_wake(Wake wake, Instant now) {
  wakes_.erase(wake);
  const Job* job = find(wake.second);
  if (job == nullptr || job->state != JobState::queued || !job->start_deadline) return;
  const Instant deadline = job->submitted + *job->start_deadline;
  if (deadline > now) wakes_.insert({deadline, job->id});
}

}  // namespace keel
