#include "core/launch.h"

#include <algorithm>

#include "base/check.h"
#include "base/plant.h"

namespace keel {
namespace {

bool all_tasks(const Job& job, auto holds) {
  return !job.tasks.empty() && std::ranges::all_of(job.tasks, holds);
}

bool is_gone(const Task& task) {
  const bool clean = task.exit.clean || planted(Plant::freed_at_unclean_end);
  return task.state == TaskState::settled || (task.state == TaskState::ended && clean);
}

Verdict verdict_of(const Exit& exit) {
  using enum Verdict::Kind;
  if (exit.cause == StopCause::time_limit) return {final_failure, Reason::time_limit_reached};
  if (exit.cause == StopCause::lease) return {infrastructure, Reason::lease_ended};
  switch (exit.kind) {
    case ExitKind::exited:
    case ExitKind::signaled: return {user_failure, Reason::program_failed};
    case ExitKind::not_started: return {final_failure, Reason::program_not_started};
    case ExitKind::lost: return {infrastructure, Reason::node_lost};
  }
  check(false, "every exit has a verdict");
  return {};
}

JobEvent after_the_end(const Job& job, Instant now, const Policy& policy) {
  using enum Verdict::Kind;
  const Verdict end = verdict(job);
  switch (end.kind) {
    case success: return Succeeded{};
    case user_failure:
      if (job.user_failures < job.retries) break;
      return Failed{end.reason};
    case final_failure: return Failed{end.reason};
    case infrastructure:
      if (job.infrastructure_failures < policy.infrastructure_failures_max) break;
      return Failed{Reason::retries_exhausted};
    case preemption: return Requeued{end.reason, now};
  }
  return Requeued{end.reason, next_try(job, now, policy)};
}

// The cause for which the agents of this job are to stop what still runs, if any.
std::optional<StopCause> stop_cause(const Job& job, JobState state) {
  switch (state) {
    case JobState::launching:
    case JobState::running:
      if (job.first_failed) return StopCause::sibling_failed;
      return std::nullopt;
    case JobState::preempting: return StopCause::preempted;
    case JobState::unknown: return stop_cause(job, job.before_unknown);
    case JobState::canceled: return StopCause::canceled;
    case JobState::accepted:
    case JobState::queued:
    case JobState::reserved:
    case JobState::finishing:
    case JobState::succeeded:
    case JobState::failed:
    case JobState::expired:
    case JobState::rejected: return std::nullopt;
  }
  check(false, "every state stops its tasks or lets them run");
  return {};
}

Prepare preparation(const Job& job, const Task& task, const State& state, const Policy& policy) {
  const Node* master = state.find(job.tasks.front().node);
  check(master != nullptr, "a reservation names nodes that were reported");
  return {.devices = task.devices,
          .owner = job.owner,
          .spec = job.spec,
          .claim_for = policy.claim_for,
          .tasks = static_cast<std::uint32_t>(job.tasks.size()),
          .master_address = master->inventory.address,
          .master_port = task.port};
}

// Whether START was committed for the current attempt.
bool is_launched(const Job& job) {
  return job.state == JobState::launching || job.state == JobState::running ||
         (job.state == JobState::unknown && job.before_unknown == JobState::launching);
}

std::optional<DutyKind> duty_kind(const Job& job, const Task& task, const State& state,
                                  const Policy& policy) {
  switch (task.state) {
    case TaskState::reserved:
      if (job.state == JobState::reserved) return preparation(job, task, state, policy);
      return std::nullopt;
    case TaskState::prepared:
    case TaskState::running:
      if (const auto cause = stop_cause(job, job.state)) return Stop{*cause};
      if (task.state == TaskState::prepared && is_launched(job)) return Start{};
      return std::nullopt;
    case TaskState::ended:
      if (job.state == JobState::finishing && verdict(job).kind == Verdict::Kind::success) {
        return Commit{};
      }
      return std::nullopt;
    case TaskState::settled: return Release{};
  }
  check(false, "every task state has its duty or none");
  return {};
}

}  // namespace

Instant next_try(const Job& job, Instant now, const Policy& policy) {
  const std::uint32_t failures = job.user_failures + job.infrastructure_failures;
  Duration wait = policy.backoff_first;
  for (std::uint32_t i = 0; i < failures && wait < policy.backoff_max; ++i) wait = wait + wait;
  return now + std::min(wait, policy.backoff_max);
}

Verdict verdict(const Job& job) {
  if (job.first_failed) return verdict_of(job.tasks.at(*job.first_failed).exit);
  const bool preempted = std::ranges::any_of(
      job.tasks, [](const Task& task) { return task.exit.cause == StopCause::preempted; });
  if (preempted) return {Verdict::Kind::preemption, Reason::preempted};
  const bool all = all_tasks(job, [](const Task& task) { return succeeded(task.exit); });
  // Stopped for a reason that no longer holds (a cancel that was never committed, say): start over.
  return all ? Verdict{Verdict::Kind::success, Reason::none}
             : Verdict{Verdict::Kind::infrastructure, Reason::node_lost};
}

std::optional<JobEvent> next_step(const Job& job, Instant now, const Policy& policy) {
  const auto late = [&] {
    return job.start_deadline && job.submitted + *job.start_deadline <= now;
  };
  switch (job.state) {
    case JobState::accepted:
      if (late()) return Expired{};
      return Admitted{};
    case JobState::queued:
      if (late()) return Expired{};
      if (job.infrastructure_failures > policy.infrastructure_failures_max) {
        return Failed{Reason::retries_exhausted};
      }
      return std::nullopt;
    case JobState::reserved:
      // First: the agents have given their claims up by then, and would not start them.
      if (job.claim_by <= now && !planted(Plant::reservation_not_expired)) {
        return Voided{job.token, Reason::claim_expired, next_try(job, now, policy)};
      }
      if (all_tasks(job, [](const Task& task) { return task.state == TaskState::prepared; }) ||
          (planted(Plant::gang_launched_in_part) &&
           job.tasks.back().state == TaskState::prepared)) {
        return Launched{job.token};
      }
      return std::nullopt;
    case JobState::launching:
      if (all_tasks(job, is_gone)) return Ended{job.token};
      if (all_tasks(job, [](const Task& task) { return task.started != Instant{}; })) {
        return Started{job.token};
      }
      return std::nullopt;
    case JobState::unknown:
      if (job.before_unknown == JobState::finishing) return std::nullopt;
      [[fallthrough]];
    case JobState::running:
    case JobState::preempting:
      if (all_tasks(job, is_gone)) return Ended{job.token};
      return std::nullopt;
    case JobState::finishing:
      if (verdict(job).kind == Verdict::Kind::success &&
          !all_tasks(job, [](const Task& task) { return task.state == TaskState::settled; })) {
        return std::nullopt;
      }
      return after_the_end(job, now, policy);
    case JobState::succeeded:
    case JobState::failed:
    case JobState::canceled:
    case JobState::expired:
    case JobState::rejected: return std::nullopt;
  }
  check(false, "every state has its next step or none");
  return {};
}

std::optional<Duty> duty(const Job& job, std::uint32_t task, const State& state,
                         const Policy& policy) {
  const Task& one = job.tasks.at(task);
  auto kind = duty_kind(job, one, state, policy);
  if (!kind) return std::nullopt;
  return Duty{one.node, {job.id, job.attempt, task}, job.token, *std::move(kind)};
}

std::vector<Duty> duties(const Job& job, const State& state, const Policy& policy) {
  std::vector<Duty> all;
  for (std::uint32_t task = 0; task < job.tasks.size(); ++task) {
    if (auto one = duty(job, task, state, policy)) all.push_back(*std::move(one));
  }
  return all;
}

}  // namespace keel
