#include "model/event.h"

#include <array>

namespace keel {

std::string_view name_of(const JobEvent& event) {
  constexpr std::array<std::string_view, std::variant_size_v<JobEvent>> names = {
      "Submitted",    "Admitted",      "Rejected",    "Expired",  "Reserved",  "Voided",
      "TaskPrepared", "Launched",      "TaskStarted", "Started",  "TaskEnded", "Ended",
      "TaskSettled",  "Succeeded",     "Failed",      "Requeued", "Preempted", "Silenced",
      "Heard",        "LateSucceeded", "Canceled"};
  static_assert(!names.back().empty());
  return names[event.index()];
}

}  // namespace keel
