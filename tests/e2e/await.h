// Waiting for what must come, on a machine that may be very busy.
#pragma once

#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace keel::e2e {

using SteadyClock = std::chrono::steady_clock;

// How long anything may take here: its length only matters to a test that fails.
inline constexpr std::chrono::seconds patience{60};

// What a test waited for did not come. GoogleTest makes a failure of it.
struct TooLate : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Condition>
void await(const std::string& what, Condition holds) {
  const auto deadline = SteadyClock::now() + patience;
  while (!holds()) {
    if (SteadyClock::now() > deadline) throw TooLate("waited in vain for " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Chance with a seed that is printed; KEEL_E2E_SEED repeats a run's.
class Dice {
 public:
  Dice();
  int throw_between(int min, int max) {
    return std::uniform_int_distribution<int>(min, max)(generator_);
  }
  void sleep_up_to_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(throw_between(0, ms)));
  }

 private:
  std::mt19937 generator_;
};

}  // namespace keel::e2e
