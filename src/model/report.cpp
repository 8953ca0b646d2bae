#include "model/report.h"

#include "base/check.h"

namespace keel {

bool is_live(TaskPhase phase, const Exit& exit) {
  switch (phase) {
    case TaskPhase::preparing:
    case TaskPhase::prepared:
    case TaskPhase::running: return true;
    case TaskPhase::ended: return !exit.clean;
    case TaskPhase::settled:
    case TaskPhase::refused: return false;
  }
  check(false, "every phase is live or not");
  return {};
}

std::string_view print(TaskPhase phase) {
  switch (phase) {
    case TaskPhase::preparing: return "preparing";
    case TaskPhase::prepared: return "prepared";
    case TaskPhase::running: return "running";
    case TaskPhase::ended: return "ended";
    case TaskPhase::settled: return "settled";
    case TaskPhase::refused: return "refused";
  }
  check(false, "every task phase has a word");
  return {};
}

}  // namespace keel
