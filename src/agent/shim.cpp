#include "agent/shim.h"

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "base/plant.h"

namespace keel {
namespace {

using enum ShimPhase;

// A kill takes effect within milliseconds or not for long: look often at first, then less often.
constexpr Duration look_often = milliseconds(20);
constexpr Duration look_seldom = milliseconds(250);
constexpr Duration look_for_ever = seconds(1);

Instant plus(Instant at, Duration span) { return at.us > never.us - span.us ? never : at + span; }

// Why the task has to stop now, and when it is killed for that.
struct Due {
  StopCause cause{};
  Instant kill_at;
};

Instant limit_end(const ShimState& state, const ShimTerms& terms) {
  return terms.time_limit.us > 0 ? plus(state.started, terms.time_limit) : never;
}

// A grace longer than the limit would put the notice before the start.
Instant limit_notice(const ShimState& state, const ShimTerms& terms) {
  const Instant end = limit_end(state, terms);
  return end == never ? never : std::max(state.started, end - terms.grace);
}

std::optional<Due> due(const ShimState& state, const ShimTerms& terms, const ShimSeen& seen) {
  // Whatever the cause, nothing outlives the lease and one grace: the control plane counts on it.
  const Instant at_latest = plus(seen.lease, terms.grace);
  if (seen.stop) return Due{*seen.stop, std::min(plus(seen.now, terms.grace), at_latest)};
  if (state.phase == running && seen.now >= limit_notice(state, terms)) {
    return Due{StopCause::time_limit, std::min(limit_end(state, terms), at_latest)};
  }
  if (planted(Plant::lease_ignored)) return std::nullopt;
  if (seen.now >= seen.lease) return Due{StopCause::lease, at_latest};
  return std::nullopt;
}

Exit final_exit(const ShimState& state, const ShimSeen& seen, bool clean) {
  // Not even SIGKILL took effect: what will end it some day is that signal.
  Exit exit = seen.ended.value_or(Exit{.kind = ExitKind::signaled, .code = SIGKILL});
  if (state.recorded) exit = *state.recorded;
  exit.cause = state.cause;
  exit.clean = clean;
  return exit;
}

ShimStep finish(ShimState state, const ShimSeen& seen) {
  const Exit exit = final_exit(state, seen, true);
  state.phase = done;
  return {state, {.record = exit, .leave = true}};
}

ShimStep go_on_killing(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  if (seen.ended && !seen.left) return finish(state, seen);
  ShimOrders orders{.kill = !planted(Plant::never_killed)};
  const Duration spent = seen.now - state.killing_since;
  if (state.phase == killing && spent >= terms.kill_bound) {
    state.phase = unclean;
    state.recorded = final_exit(state, seen, planted(Plant::unclean_end_said_clean));
    orders.record = state.recorded;
  }
  const Duration pause = state.phase == unclean ? look_for_ever
                         : spent < seconds(1)   ? look_often
                                                : look_seldom;
  orders.wake_at = seen.now + pause;
  return {state, orders};
}

ShimStep kill(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  state.phase = killing;
  state.killing_since = seen.now;
  return go_on_killing(state, terms, seen);
}

ShimStep step_ready(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  if (const auto stop = due(state, terms, seen)) {
    state.phase = done;
    state.cause = stop->cause;
    const Exit exit{.kind = ExitKind::not_started,
                    .cause = stop->cause,
                    .clean = true,
                    .text = "stopped before its program was started"};
    return {state, {.record = exit, .leave = true}};
  }
  state.phase = starting;
  return {state, {.start = true, .wake_at = seen.now}};
}

ShimStep step_running(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  if (seen.ended) return kill(state, terms, seen);
  if (state.phase == starting && seen.started) {
    state.phase = running;
    state.started = seen.now;
  }
  if (const auto stop = due(state, terms, seen)) {
    state.cause = stop->cause;
    // Before the program runs nobody is there to heed a notice.
    if (state.phase == starting) return kill(state, terms, seen);
    state.phase = stopping;
    state.kill_at = stop->kill_at;
    return {state, {.notify = true, .wake_at = state.kill_at}};
  }
  const Instant notice = state.phase == running ? limit_notice(state, terms) : never;
  return {state, {.wake_at = std::min(seen.lease, notice)}};
}

ShimStep step_stopping(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  const bool over = seen.ended && !(seen.left && seen.heeding);
  if (over || seen.now >= state.kill_at) return kill(state, terms, seen);
  // The end of a grandchild wakes nobody, so that is looked at now and then.
  const Instant look = seen.ended ? seen.now + look_seldom : never;
  return {state, {.wake_at = std::min(state.kill_at, look)}};
}

}  // namespace

ShimStep step(ShimState state, const ShimTerms& terms, const ShimSeen& seen) {
  switch (state.phase) {
    case ready: return step_ready(state, terms, seen);
    case starting:
    case running: return step_running(state, terms, seen);
    case stopping: return step_stopping(state, terms, seen);
    case killing:
    case unclean: return go_on_killing(state, terms, seen);
    case done: return {state, {.leave = true}};
  }
  check(false, "every phase of a shim has its step");
  return {state, {}};
}

}  // namespace keel
