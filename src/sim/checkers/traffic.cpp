#include "sim/checkers/traffic.h"

#include <string>

#include "sim/checkers/violation.h"

namespace keel::sim {
namespace {

constexpr std::uint64_t for_each_beat = 6;  // a report, its answer, and duties said again
constexpr std::uint64_t for_each_event = 60;
constexpr std::uint64_t for_nothing = 1000;

}  // namespace

void TrafficChecker::judge(std::uint64_t hosts, Duration length, Duration heartbeat) const {
  const auto beats = hosts * static_cast<std::uint64_t>(length.us / heartbeat.us + 1);
  const std::uint64_t bound = for_each_beat * beats + for_each_event * events_ + for_nothing;
  expect(messages_ <= bound, "L6",
         std::to_string(messages_) + " messages for " + std::to_string(beats) + " heartbeats and " +
             std::to_string(events_) + " events");
}

}  // namespace keel::sim
