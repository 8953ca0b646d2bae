// Who waits for news of which job: the long polls of the users' door.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "adapters/inbox/timer.h"
#include "model/ids.h"

namespace keel {

// To wait without missing anything: take seq(), read the records, and where they hold nothing new
// wait_for_change(job, that seq, …), then read again. All calls: any thread; none blocks.
class Feed {
 public:
  static constexpr std::size_t waiters_max = 4096;
  static constexpr std::size_t changes_kept =
      65536;  // how far back a late waiter is answered exactly

  explicit Feed(Timer& timer) : timer_(timer) {}

  // Everything up to here is durable and can be read.
  Seq seq();

  // The log is durable up to `seq`, and `changed` changed since the last call.
  void committed(Seq seq, const std::vector<JobId>& changed);

  // Runs `then` once, on the timer's thread: when `job` has changed after `after`, when `at_most`
  // has passed, or at close(). It may also run without cause, so read before believing. False, and
  // `then` is never run, where too many wait already: refuse with `busy`.
  bool wait_for_change(JobId job, Seq after, Duration at_most, std::function<void()> then);

  // Lets everybody who waits go now, and from then on at once: nobody should wait again.
  void close();
  bool is_closed();

 private:
  struct Waiter {
    JobId job;
    std::function<void()> then;
    Timer::Id deadline{};
  };

  void pass_deadline(std::uint64_t waiter);
  bool changed_since(JobId job, Seq after) const;
  void wake(std::map<std::uint64_t, Waiter>::iterator waiter);

  Timer& timer_;
  std::mutex mutex_;
  Seq seq_;
  Seq forgotten_;  // changes up to here may be missing from latest_
  std::map<JobId, Seq> latest_;
  std::deque<std::pair<Seq, JobId>> changes_;
  std::map<std::uint64_t, Waiter> waiters_;
  std::multimap<JobId, std::uint64_t> by_job_;
  std::uint64_t last_waiter_{};
  bool closed_{};
};

}  // namespace keel
