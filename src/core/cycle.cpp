#include "core/cycle.h"

namespace keel {
namespace {

// Whether a job is passed over without stopping those behind it, and why.
Reason passed_over(const Job& job, const State& state, Instant now) {
  if (state.runs_unknown(job.id)) return Reason::runs_unknown;
  if (job.not_before > now) return Reason::backing_off;
  return never_fits(job.shape, state);
}

Reason place_reason(const Job& job, const State& state, const Placeable& placeable) {
  if (placeable.empty()) return Reason::fleet_not_heard;
  const auto slots = place(job.shape, state, placeable);
  if (slots) return Reason::not_looked_at;
  // What is free on nodes that are not heard stands in no other job's hands.
  Placeable all;
  for (const auto& [node, known] : state.nodes()) all.insert(node);
  return place(job.shape, state, all) ? Reason::fleet_not_heard : slots.error();
}

}  // namespace

std::optional<Decision> examine_next(const State& state, const Placeable& placeable, Instant now,
                                     Cursor& cursor) {
  if (!cursor.in_pass) {
    if (cursor.version == state.schedule_version()) return std::nullopt;
    cursor = {.in_pass = true, .version = state.schedule_version()};
  }
  const auto& line = state.line();
  const auto next = cursor.after ? line.upper_bound(*cursor.after) : line.begin();
  if (next == line.end()) {
    // Whatever has moved on since the pass began, our own placements included, is worth one more.
    cursor.in_pass = false;
    return std::nullopt;
  }
  cursor.after = *next;
  const Job& job = *state.find(next->job);
  if (const Reason over = passed_over(job, state, now); over != Reason::none) {
    return Decision{job.id, over};
  }
  if (!placeable.empty()) {
    auto slots = place(job.shape, state, placeable);
    if (slots) return Decision{job.id, Reason::none, *std::move(slots)};
  }
  cursor.in_pass = false;
  return Decision{job.id, place_reason(job, state, placeable)};
}

Reason why_waiting(const State& state, const Placeable& placeable, Instant now, JobId id) {
  const Job* job = state.find(id);
  if (job == nullptr) return Reason::none;
  if (job->state == JobState::accepted) return Reason::being_checked;
  if (job->state != JobState::queued) return Reason::none;
  if (const Reason over = passed_over(*job, state, now); over != Reason::none) return over;
  for (const Place& place : state.line()) {
    if (place.job == id) return place_reason(*job, state, placeable);
    if (passed_over(*state.find(place.job), state, now) == Reason::none) {
      return Reason::behind_earlier_job;
    }
  }
  return Reason::not_looked_at;
}

std::uint16_t free_port(const State& state, const NodeId& node, std::uint16_t first,
                        std::uint16_t last) {
  const auto& taken = state.use_of(node).ports;
  for (std::uint32_t port = first; port <= last; ++port) {
    if (!taken.contains(static_cast<std::uint16_t>(port))) return static_cast<std::uint16_t>(port);
  }
  return 0;
}

}  // namespace keel
