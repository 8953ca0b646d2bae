// What an agent says of its host: claims, never facts, until the control plane has stored them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reason.h"

namespace keel {

// How far one claim has come on its host.
enum class TaskPhase : std::uint8_t {
  preparing,  // the claim is on the agent's disk; files are on their way
  prepared,   // ready to start; nothing started
  running,
  ended,    // no process left
  settled,  // its outputs are committed
  refused,  // the agent will not do it; `refusal` says why
};

std::string_view print(TaskPhase phase);

// Whether something of the task may run, now or soon. `exit` is its end, where it has ended.
bool is_live(TaskPhase phase, const Exit& exit);

struct TaskReport {
  TaskKey key;
  FencingToken token;
  TaskPhase phase{};
  Exit exit{};         // ended, settled
  Reason refusal{};    // refused
  std::string text{};  // refused: for people
  friend bool operator==(const TaskReport&, const TaskReport&) = default;
};

// A full report holds every claim the agent has, and with token 0 whatever else of a task may still
// run on its host. So of what it leaves out no process is left.
// A heartbeat (full = false) says that nothing changed since the last one.
struct Report {
  ReportNo number{};
  bool full{};
  std::optional<NodeInventory> inventory{};  // full only
  std::vector<TaskReport> tasks{};           // full only; sorted by key
  friend bool operator==(const Report&, const Report&) = default;
};

}  // namespace keel
