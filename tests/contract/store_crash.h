// A power cut at each step of a script of transactions, and what must be true of what it leaves.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace keel {

struct CrashScript {
  std::uint64_t seed{};             // of what tears and of the jobs' order
  std::uint64_t transactions{200};  // at least
  std::uint64_t step_first{};       // of the steps, the image of each `step_every`-th is looked at,
  std::uint64_t step_every{1};      // in three forms: nothing lost, all lost, torn
};

struct CrashCount {
  std::uint64_t transactions{};
  std::uint64_t steps{};
  std::uint64_t images{};
  std::uint64_t unacknowledged{};  // images that hold a batch that was not acknowledged yet
};

// Plays whole lives of jobs into a SQLite store that moves and cuts its log often, from its
// creation on: some succeed at once, some are canceled while they are reserved, and some are
// reserved twice, as their time passes at first. Each image must open, hold what was acknowledged
// and at most the batch under way, whole; hold each key with its job, each job with its spec and
// its events, each waiting job in the line; and take that batch when it is sent again. Failures are
// GoogleTest's and name the step.
CrashCount play_crashes(const CrashScript& script);

}  // namespace keel
