#include "core/lifecycle.h"

#include "base/check.h"
#include "base/plant.h"

namespace keel {
namespace {

using enum JobState;
using enum TransitionError;
using Outcome = Result<Done, TransitionError>;

// Whether agents may be running something of the current attempt.
bool may_run(JobState state) {
  return state == launching || state == running || state == preempting || state == unknown ||
         state == canceled;
}

// Nothing can start any more and nothing is left: the devices are free.
void settle_all(Job& job) {
  for (Task& task : job.tasks) task.state = TaskState::settled;
}

void never_started(Job& job, Instant at) {
  for (Task& task : job.tasks) {
    task.state = TaskState::settled;
    task.exit = Exit{.kind = ExitKind::not_started, .clean = true};
    task.ended = at;
  }
}

struct Apply {
  Job& job;
  Instant at;

  Outcome operator()(const Submitted&) const { return impossible; }

  Outcome operator()(Admitted) const {
    if (job.state != accepted) return impossible;
    return enter(queued);
  }
  Outcome operator()(Rejected event) const {
    if (job.state != accepted) return impossible;
    job.reason = event.reason;
    return enter(rejected);
  }
  Outcome operator()(Expired) const {
    if (job.state != accepted && job.state != queued) return impossible;
    job.reason = Reason::start_deadline_passed;
    return enter(expired);
  }

  Outcome operator()(const Reserved& event) const {
    if (job.state != queued || event.token <= job.token) return impossible;
    if (event.slots.size() != job.shape.gang.tasks) return impossible;
    job.attempt.value += 1;
    job.token = event.token;
    job.claim_by = event.claim_by;
    job.first_failed.reset();
    job.not_before = {};
    job.reason = Reason::none;
    job.tasks.clear();
    job.tasks.reserve(event.slots.size());
    for (const Slot& slot : event.slots) {
      job.tasks.push_back({.node = slot.node, .devices = slot.devices, .port = event.port});
    }
    return enter(reserved);
  }
  Outcome operator()(const Voided& event) const {
    if (const auto error = muted(event.token)) return *error;
    if (job.state == queued || is_terminal(job.state)) return stale;
    if (job.state != reserved) return impossible;
    never_started(job, at);
    if (event.refused < job.tasks.size()) job.tasks[event.refused].exit.text = event.text;
    return put_back(event.reason, event.not_before);
  }
  Outcome operator()(Launched event) const {
    if (const auto error = muted(event.token)) return *error;
    if (job.state != reserved) return impossible;
    return enter(launching);
  }
  Outcome operator()(Started event) const {
    if (const auto error = muted(event.token)) return *error;
    if (job.state != launching) return impossible;
    job.start_deadline.reset();  // kept, whatever becomes of this attempt
    return enter(running);
  }
  Outcome operator()(Ended event) const {
    if (const auto error = muted(event.token)) return *error;
    if (!may_run(job.state) || job.state == canceled) return impossible;
    return enter(finishing);
  }
  Outcome operator()(Succeeded) const {
    if (job.state != finishing) return impossible;
    settle_all(job);
    return enter(succeeded);
  }
  Outcome operator()(Failed event) const {
    if (job.state != finishing && job.state != queued) return impossible;
    settle_all(job);
    job.reason = event.reason;
    return enter(failed);
  }
  Outcome operator()(Requeued event) const {
    if (job.state != finishing) return impossible;
    settle_all(job);
    return put_back(event.reason, event.not_before);
  }
  Outcome operator()(Preempted event) const {
    if (const auto error = muted(event.token)) return *error;
    if (job.state != running) return impossible;
    return enter(preempting);
  }
  Outcome operator()(Silenced) const {
    const bool on_nodes = may_run(job.state) || job.state == finishing;
    if (!on_nodes || job.state == unknown || job.state == canceled) return impossible;
    job.before_unknown = job.state;
    return enter(unknown);
  }
  Outcome operator()(Heard) const {
    if (job.state != unknown) return impossible;
    return enter(job.before_unknown);
  }
  Outcome operator()(Canceled) const {
    if (is_terminal(job.state) && !planted(Plant::double_terminal)) return impossible;
    // Until START is committed no agent can have started anything, so nothing has to be stopped.
    if (job.state == reserved) never_started(job, at);
    if (job.state == finishing) settle_all(job);
    for (Task& task : job.tasks) {
      const bool gone = task.state == TaskState::ended && task.exit.clean;
      if (gone || planted(Plant::freed_at_cancel)) task.state = TaskState::settled;
    }
    job.reason = Reason::canceled_by_user;
    return enter(canceled);
  }

  Outcome operator()(TaskPrepared event) const {
    if (const auto error = mute(event.token, event.task)) return *error;
    if (job.state != reserved) return stale;
    Task& task = job.tasks[event.task];
    if (task.state != TaskState::reserved) return stale;
    task.state = TaskState::prepared;
    return Done{};
  }
  Outcome operator()(TaskStarted event) const {
    if (const auto error = mute(event.token, event.task)) return *error;
    if (job.state == reserved) return impossible;
    if (!may_run(job.state)) return stale;
    Task& task = job.tasks[event.task];
    if (task.state != TaskState::prepared) return stale;
    task.state = TaskState::running;
    task.started = at;
    return Done{};
  }
  Outcome operator()(const TaskEnded& event) const {
    if (const auto error = mute(event.token, event.task)) return *error;
    if (job.state == reserved) return impossible;
    if (!may_run(job.state)) return stale;
    Task& task = job.tasks[event.task];
    if (task.state == TaskState::settled) return stale;
    if (task.state == TaskState::ended) {
      // The program's end is told once; only its devices may turn out to be clean later.
      if (task.exit.clean || !event.exit.clean) return stale;
      task.exit.clean = true;
    } else {
      task.state = TaskState::ended;
      task.exit = event.exit;
      task.ended = at;
      if (!job.first_failed && failed_by_itself(event.exit)) job.first_failed = event.task;
    }
    if (job.state == canceled && task.exit.clean) task.state = TaskState::settled;
    return Done{};
  }
  Outcome operator()(TaskSettled event) const {
    if (const auto error = mute(event.token, event.task)) return *error;
    if (job.state == queued || (is_terminal(job.state) && job.state != canceled)) return stale;
    const bool ending =
        job.state == finishing || (job.state == unknown && job.before_unknown == finishing);
    if (!ending) return impossible;
    Task& task = job.tasks[event.task];
    if (task.state == TaskState::settled) return stale;
    task.state = TaskState::settled;
    return Done{};
  }
  Outcome operator()(LateSucceeded event) const {
    if (const auto error = muted(event.token)) return *error;
    if (is_terminal(job.state)) return stale;
    if (job.state != queued) return impossible;
    job.reason = Reason::none;
    return enter(succeeded);
  }

  Outcome enter(JobState state) const {
    job.state = state;
    job.since = at;
    return Done{};
  }

  Outcome put_back(Reason reason, Instant not_before) const {
    if (reason == Reason::program_failed) {
      if (!planted(Plant::failure_not_counted)) job.user_failures += 1;
    } else if (reason != Reason::preempted) {
      job.infrastructure_failures += 1;
    }
    job.reason = reason;
    job.not_before = not_before;
    return enter(queued);
  }

  // Agents speak late, twice and out of order. Only the latest attempt is heard.
  std::optional<TransitionError> muted(FencingToken token) const {
    if (token > job.token || token.value == 0) return impossible;
    if (token < job.token && !planted(Plant::exit_replayed)) return stale;
    return std::nullopt;
  }
  std::optional<TransitionError> mute(FencingToken token, std::uint32_t task) const {
    if (const auto error = muted(token)) return error;
    if (task >= job.tasks.size()) return impossible;
    return std::nullopt;
  }
};

}  // namespace

bool failed_by_itself(const Exit& exit) {
  switch (exit.cause) {
    case StopCause::none: return !keel::succeeded(exit);
    case StopCause::time_limit:
    case StopCause::lease: return true;
    case StopCause::canceled:
    case StopCause::sibling_failed:
    case StopCause::preempted:
    case StopCause::superseded: return false;
  }
  check(false, "every stop cause is the task's own or not");
  return {};
}

Job create(JobId id, Instant at, const Submitted& event) {
  return {.id = id,
          .owner = event.owner,
          .key = event.key,
          .said = event.said,
          .spec = event.spec,
          .shape = event.shape,
          .time_limit = event.time_limit,
          .grace = event.grace,
          .retries = event.retries,
          .start_deadline = event.start_deadline,
          .state = accepted,
          .submitted = at,
          .since = at};
}

Outcome apply(Job& job, Instant at, const JobEvent& event) {
  check(at >= job.since, "events are applied in time order");
  return std::visit(Apply{job, at}, event);
}

}  // namespace keel
