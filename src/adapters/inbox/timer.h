// One thread that runs functions later: deadlines of long polls, and work that must not hold up the
// thread that noticed it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "model/units.h"

namespace keel {

// All calls: any thread, also from a function that the timer runs. None blocks, but for stop().
class Timer {
 public:
  using Id = std::uint64_t;  // never given twice

  Timer();
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Runs `then` on the timer's thread, once, `wait` from now or a little later. What is due at the
  // same moment runs in the order of asking. After stop() nothing runs any more.
  Id after(Duration wait, std::function<void()> then);

  // True where the function had not begun and now never will.
  bool cancel(Id id);

  // Runs what is due by now, so that whoever was just told to go is let go; drops the rest. Not
  // from a function that the timer runs.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  using Due = std::pair<Clock::time_point, Id>;

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Due, std::function<void()>> waiting_;
  std::unordered_map<Id, Clock::time_point> due_;
  Id last_id_{};
  std::optional<Clock::time_point> stopped_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace keel
