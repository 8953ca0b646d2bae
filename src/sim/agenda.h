// The simulated world's time: what happens when. Two things at one instant happen in the order in
// which they were planned, so a seed plays the same way every time.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "model/units.h"
#include "ports/clock.h"

namespace keel::sim {

class Agenda {
 public:
  Instant now() const { return now_; }

  // Not before now.
  void at(Instant when, std::function<void()> what) {
    planned_.emplace(std::pair{std::max(when, now_), ++last_}, std::move(what));
  }
  void after(Duration wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }

  // Lets the next thing happen, unless it is planned for `end` or later.
  bool step(Instant end) {
    if (planned_.empty() || planned_.begin()->first.first >= end) return false;
    auto next = planned_.extract(planned_.begin());
    now_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> planned_;
  std::uint64_t last_{};
  Instant now_{};
};

// A clock that was `at_start` when the world's was `start`, and runs `ppm` millionths too fast.
class DriftingClock final : public Clock {
 public:
  DriftingClock(const Agenda& agenda, Instant at_start, std::int64_t ppm)
      : agenda_(agenda), start_(agenda.now()), at_start_(at_start), ppm_(ppm) {}

  Instant now() override { return at_start_ + local(agenda_.now() - start_); }

  // The world's time at which this clock will not be before `when`.
  Instant true_time(Instant when) const {
    constexpr Duration far = hours(24 * 365 * 100);
    if (when - at_start_ > far) return start_ + far;
    const std::int64_t us = (when - at_start_).us;
    return start_ + Duration{us - us / 1'000'000 * ppm_ + std::abs(ppm_) + 1};
  }

 private:
  Duration local(Duration span) const { return {span.us + span.us / 1'000'000 * ppm_}; }

  const Agenda& agenda_;
  Instant start_;
  Instant at_start_;
  std::int64_t ppm_;
};

}  // namespace keel::sim
