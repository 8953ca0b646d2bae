#include "model/report.h"

#include "base/check.h"

namespace keel {

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
