#include "model/reason.h"

#include "base/check.h"

namespace keel {

std::string_view print(Reason reason) {
  switch (reason) {
    case Reason::none: return "none";
    case Reason::being_checked: return "being_checked";
    case Reason::not_looked_at: return "not_looked_at";
    case Reason::no_nodes: return "no_nodes";
    case Reason::fleet_not_heard: return "fleet_not_heard";
    case Reason::no_such_model: return "no_such_model";
    case Reason::exceeds_fleet: return "exceeds_fleet";
    case Reason::no_free_gpus: return "no_free_gpus";
    case Reason::no_free_cpu: return "no_free_cpu";
    case Reason::no_free_memory: return "no_free_memory";
    case Reason::behind_earlier_job: return "behind_earlier_job";
    case Reason::backing_off: return "backing_off";
    case Reason::claim_expired: return "claim_expired";
    case Reason::claim_refused: return "claim_refused";
    case Reason::prepare_failed: return "prepare_failed";
    case Reason::program_failed: return "program_failed";
    case Reason::program_not_started: return "program_not_started";
    case Reason::time_limit_reached: return "time_limit_reached";
    case Reason::node_lost: return "node_lost";
    case Reason::lease_ended: return "lease_ended";
    case Reason::start_deadline_passed: return "start_deadline_passed";
    case Reason::canceled_by_user: return "canceled_by_user";
    case Reason::preempted: return "preempted";
    case Reason::retries_exhausted: return "retries_exhausted";
    case Reason::restored_lately: return "restored_lately";
    case Reason::runs_unknown: return "runs_unknown";
  }
  check(false, "every reason has a word");
  return {};
}

std::string_view describe(Reason reason) {
  switch (reason) {
    case Reason::none: return "";
    case Reason::being_checked: return "It was accepted and is being checked.";
    case Reason::not_looked_at: return "The scheduler has not come to it yet.";
    case Reason::no_nodes: return "No agent has ever reported a node: start keel-agent on a host.";
    case Reason::fleet_not_heard:
      return "Nodes that it needs do not report just now; agents reconnect by themselves.";
    case Reason::no_such_model:
      return "No node has GPUs of this model; `keel nodes` shows the models there are.";
    case Reason::exceeds_fleet:
      return "Not even the empty fleet could hold this gang: ask for fewer tasks or less per task.";
    case Reason::no_free_gpus: return "The GPUs it needs are held by other jobs.";
    case Reason::no_free_cpu: return "There is not enough free CPU beside the GPUs it needs.";
    case Reason::no_free_memory: return "There is not enough free memory beside the GPUs it needs.";
    case Reason::behind_earlier_job: return "An earlier job is first in the line.";
    case Reason::backing_off: return "Its last attempt ended early; it waits before the next one.";
    case Reason::claim_expired: return "A node did not prepare it in time.";
    case Reason::claim_refused: return "A node refused the claim on its devices.";
    case Reason::prepare_failed: return "A node could not prepare it; the task's text says why.";
    case Reason::program_failed: return "A task ended with an error.";
    case Reason::program_not_started: return "The program could not be executed.";
    case Reason::time_limit_reached: return "It reached its time limit.";
    case Reason::node_lost: return "A node it ran on was lost, or lost track of it.";
    case Reason::lease_ended:
      return "The node stopped it after hearing nothing from the control plane for too long.";
    case Reason::start_deadline_passed: return "It had not started by its start deadline.";
    case Reason::canceled_by_user: return "It was canceled.";
    case Reason::preempted: return "It was preempted.";
    case Reason::retries_exhausted:
      return "The platform failed it too often; see its events for each attempt's end.";
    case Reason::restored_lately:
      return "An older copy of the store was put back: what was begun after it must be over first.";
    case Reason::runs_unknown:
      return "An attempt of it that the store has forgotten still runs; `keel nodes` shows where.";
  }
  check(false, "every reason is described");
  return {};
}

}  // namespace keel
