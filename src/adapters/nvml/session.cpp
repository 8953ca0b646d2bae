#include "adapters/nvml/session.h"

#include <algorithm>

#include "base/check.h"

namespace keel::nvml {

Session::Step Session::due(Instant now) const {
  if (now < wake_) return Step::none;
  switch (state_) {
    case State::resting: return Step::start;
    case State::idle: return Step::none;
    case State::asked: return Step::kill;
    case State::dying: return Step::abandon;
  }
  check(false, "every state of a session has a step");
  return {};
}

void Session::rest(Instant now) {
  Duration rest = patience_.rest_first;
  for (int i = 1; i < failures_ && rest < patience_.rest_max; ++i) rest = rest + rest;
  state_ = State::resting;
  wake_ = is_stuck() ? never : now + std::min(rest, patience_.rest_max);
}

void Session::started() {
  fresh_ = true;
  state_ = State::idle;
  wake_ = never;
}

void Session::not_started(Instant now) {
  ++failures_;
  rest(now);
}

void Session::asked(Instant now) {
  check(is_idle(), "one question at a time");
  state_ = State::asked;
  wake_ = now + (fresh_ ? patience_.init : patience_.call);
}

void Session::calling(const std::string& function, Instant now) {
  if (!is_asked()) return;
  // These wake devices up where nobody keeps the driver loaded.
  const bool slow = fresh_ && (function == "dlopen" || function == "nvmlInit_v2" ||
                               function == "nvmlDeviceGetHandleByIndex_v2");
  wake_ = now + (slow ? patience_.init : patience_.call);
}

void Session::answered() {
  if (!is_asked()) return;
  well();
  state_ = State::idle;
  wake_ = never;
}

void Session::well() {
  failures_ = 0;
  fresh_ = false;
}

void Session::give_up(Instant now) {
  if (is_asked()) wake_ = now;
}

void Session::killed(Instant now) {
  state_ = State::dying;
  wake_ = now + patience_.kill;
}

void Session::abandoned(Instant now) {
  ++abandoned_;
  ++failures_;
  rest(now);
}

void Session::gone(Instant now) {
  ++failures_;
  rest(now);
}

void Session::late_end(Instant now) {
  const bool was_stuck = is_stuck();
  --abandoned_;
  if (was_stuck && state_ == State::resting) rest(now);
}

}  // namespace keel::nvml
