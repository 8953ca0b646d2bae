// Where a gang could go: all of it, or nowhere. First form: first fit over nodes in order of name.
#pragma once

#include <vector>

#include "base/result.h"
#include "core/state.h"
#include "model/event.h"
#include "model/reason.h"
#include "model/spec.h"

namespace keel {

// Which nodes may be given new work: ready, and heard in full since this control plane leads.
using Placeable = std::set<NodeId>;

// A slot for each task, in rank order, on free and healthy devices of one model; or why not now.
// Deterministic; touches nothing.
Result<std::vector<Slot>, Reason> place(const Shape& shape, const State& state,
                                        const Placeable& placeable);

// Why no reported node, however idle, could hold the gang; `none` where they could.
Reason never_fits(const Shape& shape, const State& state);

}  // namespace keel
