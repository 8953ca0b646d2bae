// A job as the control plane holds it: what decides, and nothing else (the spec is a row of its
// own).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/reason.h"
#include "model/spec.h"
#include "model/units.h"

namespace keel {

// docs/job-states.md says what leads from each to which. Stored and sent by number: append only.
enum class JobState : std::uint8_t {
  accepted,    // durable; checks still under way
  queued,      // waiting for devices
  reserved,    // devices taken, agents preparing; nothing started
  launching,   // START is committed: some tasks may run
  running,     // every task has started
  finishing,   // no process left; outputs being committed
  preempting,  // being stopped so that another job can have the devices
  unknown,     // an agent it runs on cannot be heard
  succeeded,
  failed,
  canceled,
  expired,   // not started by its start deadline
  rejected,  // the checks said no
};
inline constexpr std::size_t job_state_count = 13;

std::string_view print(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);
bool is_terminal(JobState state);

// How far one task of the current attempt has come, as far as agents have told. Append only.
enum class TaskState : std::uint8_t {
  reserved,  // devices taken in the store, agent not heard yet
  prepared,  // the agent holds the claim on its own disk; nothing started
  running,   // its process was started
  ended,     // its program has ended, as `exit` says; the devices are free once `exit.clean`
  settled,   // over and done: outputs committed or set aside, nothing held
};

std::string_view print(TaskState state);

// What a task's end was, as the shim recorded it or the platform had to conclude. Append only.
enum class ExitKind : std::uint8_t {
  exited,       // by itself, with `code`
  signaled,     // by signal `code`
  not_started,  // its program could not be started, or never was: `text` says why
  lost,         // nobody can say: the node lost it, or is proved to be gone
};

// Who ended it. Append only.
enum class StopCause : std::uint8_t {
  none,            // nobody: it ended by itself
  canceled,        // a person
  sibling_failed,  // another task of the gang failed
  time_limit,      // its own limit
  lease,           // the shim: no word from the control plane for too long
  preempted,       // the scheduler
  superseded,      // the attempt is no longer the job's
};

std::string_view print(StopCause cause);

struct Exit {
  ExitKind kind{};
  std::int32_t code{};  // exit code or signal number
  StopCause cause{};
  bool out_of_memory{};
  bool clean{};        // proved: no process left, nobody holds the devices
  std::string text{};  // for people, at most 256 bytes
  friend bool operator==(const Exit&, const Exit&) = default;
};

// True where the task did what it was asked: ended by itself with code 0.
bool succeeded(const Exit& exit);

// "exit code 3", "killed by signal 9 (out of memory)", "could not start: …".
std::string describe(const Exit& exit);

struct Task {
  NodeId node;
  std::vector<DeviceId> devices{};  // LOCAL_RANK i is the i-th
  std::uint16_t port{};             // of the rendezvous, on the node of task 0; same in all tasks
  TaskState state{};
  Exit exit{};        // once `ended`
  Instant started{};  // control plane's time at which the start was heard; 0 before
  Instant ended{};
  friend bool operator==(const Task&, const Task&) = default;
};

// Whose processes a job's are. `uid` is the submitting person's on the local door.
struct Owner {
  std::string user{};
  std::uint32_t uid{};
  std::uint32_t gid{};
  friend bool operator==(const Owner&, const Owner&) = default;
};

// A caller's own name for one submission: unique per user.
struct SubmitKey {
  std::string user{};
  std::string key{};
  friend auto operator<=>(const SubmitKey&, const SubmitKey&) = default;
};

struct Job {
  JobId id;
  Owner owner{};
  std::string key{};  // idempotency key; empty when none was given
  Digest said{};      // of what the caller said, in canonical form
  Digest spec{};      // names the spec's row
  Shape shape{};
  Duration time_limit{};
  Duration grace{};
  std::uint32_t retries{};
  std::optional<Duration> start_deadline{};

  JobState state{};
  Instant submitted{};
  Instant since{};            // when `state` was entered
  Instant not_before{};       // queued: back-off after a failure; 0 when there is none
  JobState before_unknown{};  // unknown: what to return to when the agent is heard again

  AttemptNo attempt{};
  FencingToken token{};
  Instant claim_by{};         // reserved: void unless all tasks are prepared by then
  std::vector<Task> tasks{};  // of the current or last attempt
  std::optional<std::uint32_t> first_failed{};  // the task whose failure ended the attempt
  std::uint32_t user_failures{};
  std::uint32_t infrastructure_failures{};
  Reason reason{};  // why it was rejected, expired, failed or put back
  friend bool operator==(const Job&, const Job&) = default;
};

// Devices stay taken until their task is observed to be gone and clean, whatever the job's state.
bool holds_devices(const Task& task);

}  // namespace keel
