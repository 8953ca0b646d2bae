// The scheduler: one pass over the line of waiting jobs, a step at a time. A caller takes as many
// steps as its turn allows, folds each placement into the state before the next step, and goes on
// from the cursor in its next turn.
//
// First form: strictly first come, first served. The first job that could run on the fleet but does
// not fit now stops the pass; jobs that no fleet of today could run are passed over.
#pragma once

#include <optional>
#include <vector>

#include "core/place.h"
#include "core/state.h"
#include "model/event.h"
#include "model/reason.h"

namespace keel {

// Where a pass stands. A plain value: dropping it starts the pass over and changes no decision.
struct Cursor {
  bool in_pass{};
  std::uint64_t version{};       // of the state when the pass began
  std::optional<Place> after{};  // examined up to and including this place
};

// What the scheduler makes of one waiting job: a place for it, or why it goes on waiting.
struct Decision {
  JobId job;
  Reason reason{};            // `none`: it has a place
  std::vector<Slot> slots{};  // one per task, where it has a place
};

// The next decision of the pass, or nothing when the pass is over and nothing has changed since.
// Begins a new pass by itself where something has. Deterministic; never looks at a clock.
std::optional<Decision> examine_next(const State& state, const Placeable& placeable, Instant now,
                                     Cursor& cursor);

// Why this job waits, from state alone; `none` where it does not wait.
Reason why_waiting(const State& state, const Placeable& placeable, Instant now, JobId job);

// A rendezvous port on `node` that no live attempt uses; the lowest. 0 where all are taken.
std::uint16_t free_port(const State& state, const NodeId& node, std::uint16_t first,
                        std::uint16_t last);

}  // namespace keel
