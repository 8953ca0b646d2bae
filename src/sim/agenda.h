// The simulated world's time: what happens when. Two things at one instant happen in the order in
// which they were planned, so a seed plays the same way every time.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "model/units.h"
#include "ports/clock.h"

namespace keel::sim {

class Agenda {
 public:
  Instant now() const { return now_; }

  // Not before now.
  void at(Instant when, std::function<void()> what) {
    planned_.push_back({std::max(when, now_), ++last_, std::move(what)});
    std::ranges::push_heap(planned_, later);
  }
  void after(Duration wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }

  // Lets the next thing happen, unless it is planned for `end` or later.
  bool step(Instant end) {
    if (planned_.empty() || planned_.front().when >= end) return false;
    std::ranges::pop_heap(planned_, later);
    const Planned next = std::move(planned_.back());
    planned_.pop_back();
    now_ = next.when;
    next.what();
    return true;
  }

 private:
  struct Planned {
    Instant when{};
    std::uint64_t number{};
    std::function<void()> what{};
  };
  static bool later(const Planned& a, const Planned& b) {
    return std::pair(a.when, a.number) > std::pair(b.when, b.number);
  }

  std::vector<Planned> planned_;  // a heap, the next at its front
  std::uint64_t last_{};
  Instant now_{};
};

// Between any two clocks one per cent at most.
inline constexpr std::int64_t drift_max_ppm = 5'000;

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
