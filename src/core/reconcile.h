// An agent's full report against what the control plane knows: which facts it tells, and what the
// agent should do about tasks that are not (or no longer) wanted.
#pragma once

#include <vector>

#include "core/state.h"
#include "model/duty.h"
#include "model/event.h"
#include "model/node.h"
#include "model/policy.h"
#include "model/report.h"

namespace keel {

struct Told {
  std::vector<JobFact> facts;        // in order; those that lifecycle calls stale are old news
  std::vector<TaskKey> alarms;       // reported with a token that cannot have been given
  std::vector<ForeignTask> foreign;  // all that run there and are none of ours; in ascending order
};

// Every reported task against every wanted one, and the wanted ones that the report leaves out.
// Only for full reports. Deterministic.
Told facts_told(const NodeId& node, const Report& report, const State& state, Instant now,
                const Policy& policy);

// Stop or release each reported task that nobody wants there; asked after the facts were applied.
std::vector<Duty> orders_due(const NodeId& node, const Report& report, const State& state);

// The shim of a node that cannot be heard has stopped its task by then: its lease, its grace and
// the kill, on a clock that may run one per cent slow.
Duration proof_of_loss(Duration grace, const Policy& policy);

// What follows for `job` from the proof that `node` is gone and its tasks with it.
std::vector<JobFact> facts_of_loss(const Job& job, const NodeId& node);

}  // namespace keel
