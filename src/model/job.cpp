#include "model/job.h"

#include "base/check.h"

namespace keel {

std::string_view print(JobState state) {
  switch (state) {
    case JobState::accepted: return "accepted";
    case JobState::queued: return "queued";
    case JobState::reserved: return "reserved";
    case JobState::launching: return "launching";
    case JobState::running: return "running";
    case JobState::finishing: return "finishing";
    case JobState::preempting: return "preempting";
    case JobState::unknown: return "unknown";
    case JobState::succeeded: return "succeeded";
    case JobState::failed: return "failed";
    case JobState::canceled: return "canceled";
    case JobState::expired: return "expired";
    case JobState::rejected: return "rejected";
  }
  check(false, "every job state has a word");
  return {};
}

std::optional<JobState> parse_job_state(std::string_view text) {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    if (print(state) == text) return state;
  }
  return std::nullopt;
}

bool is_terminal(JobState state) {
  switch (state) {
    case JobState::accepted:
    case JobState::queued:
    case JobState::reserved:
    case JobState::launching:
    case JobState::running:
    case JobState::finishing:
    case JobState::preempting:
    case JobState::unknown: return false;
    case JobState::succeeded:
    case JobState::failed:
    case JobState::canceled:
    case JobState::expired:
    case JobState::rejected: return true;
  }
  check(false, "every job state is terminal or not");
  return {};
}

std::string_view print(TaskState state) {
  switch (state) {
    case TaskState::reserved: return "reserved";
    case TaskState::prepared: return "prepared";
    case TaskState::running: return "running";
    case TaskState::ended: return "ended";
    case TaskState::settled: return "settled";
  }
  check(false, "every task state has a word");
  return {};
}

std::string_view print(StopCause cause) {
  switch (cause) {
    case StopCause::none: return "by itself";
    case StopCause::canceled: return "canceled";
    case StopCause::sibling_failed: return "stopped because another task failed";
    case StopCause::time_limit: return "stopped at its time limit";
    case StopCause::lease: return "stopped because the control plane was not heard";
    case StopCause::preempted: return "preempted";
    case StopCause::superseded: return "stopped because a later attempt took its place";
  }
  check(false, "every stop cause has words");
  return {};
}

bool succeeded(const Exit& exit) {
  return exit.kind == ExitKind::exited && exit.code == 0 && exit.cause == StopCause::none;
}

std::string describe(const Exit& exit) {
  std::string text;
  switch (exit.kind) {
    case ExitKind::exited: text = "exit code " + std::to_string(exit.code); break;
    case ExitKind::signaled: text = "killed by signal " + std::to_string(exit.code); break;
    case ExitKind::not_started: text = "did not start"; break;
    case ExitKind::lost: text = "lost"; break;
  }
  check(!text.empty(), "every kind of exit has words");
  if (!exit.text.empty()) text += ": " + exit.text;
  if (exit.out_of_memory) text += " (out of memory)";
  if (exit.cause != StopCause::none) text += ", " + std::string(print(exit.cause));
  return text;
}

bool holds_devices(const Task& task) {
  switch (task.state) {
    case TaskState::reserved:
    case TaskState::prepared:
    case TaskState::running: return true;
    case TaskState::ended: return !task.exit.clean;
    case TaskState::settled: return false;
  }
  check(false, "every task state holds devices or not");
  return {};
}

}  // namespace keel
