// Why: of a wait, of a refusal, of an end. One closed list, so that each can be explained, counted
// and reached by a test.
#pragma once

#include <cstdint>
#include <string_view>

namespace keel {

// Stored and sent by number: append only.
enum class Reason : std::uint8_t {
  none,

  // A queued job waits because…
  being_checked,       // accepted, not yet admitted
  not_looked_at,       // the scheduler has not come to it yet: wait
  no_nodes,            // no agent has ever reported: start one
  fleet_not_heard,     // no agent has reported since the control plane started: wait
  no_such_model,       // no node has this GPU model: ask for another
  exceeds_fleet,       // not even the empty fleet could hold it: make it smaller
  no_free_gpus,        // others hold the GPUs it needs
  no_free_cpu,         // GPUs would do, CPU does not
  no_free_memory,      // GPUs would do, memory does not
  behind_earlier_job,  // an earlier job is first in the line
  backing_off,         // it failed lately and waits before its next try

  // An attempt was put back, or a job ended, because…
  claim_expired,        // an agent did not prepare it in time
  claim_refused,        // an agent said no: its device is held, or the claim was too late
  prepare_failed,       // an agent could not prepare it: files, disk, user
  program_failed,       // a task ended with an error
  program_not_started,  // the program could not be executed
  time_limit_reached,
  node_lost,    // a node vanished for longer than its lease, or forgot the task
  lease_ended,  // the shim stopped it: no word from the control plane
  start_deadline_passed,
  canceled_by_user,
  preempted,
  retries_exhausted,  // of the infrastructure kind: the platform gave up

  // A queued job waits because, after an older copy of the store was put back,…
  restored_lately,  // what was begun after the copy may still run, unheard
  runs_unknown,     // an attempt of it that the copy does not know still runs
};
inline constexpr std::size_t reason_count = 26;

// The word by which API, CLI and docs name it ("no_free_gpus").
std::string_view print(Reason reason);

// One sentence for a person, which says what to do where something can be done.
std::string_view describe(Reason reason);

}  // namespace keel
