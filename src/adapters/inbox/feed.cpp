#include "adapters/inbox/feed.h"

#include <algorithm>

namespace keel {

Seq Feed::seq() {
  std::lock_guard lock(mutex_);
  return seq_;
}

void Feed::committed(Seq seq, const std::vector<JobId>& changed) {
  std::lock_guard lock(mutex_);
  seq_ = std::max(seq_, seq);
  for (JobId job : changed) {
    latest_[job] = seq;
    changes_.emplace_back(seq, job);
    for (auto [at, end] = by_job_.equal_range(job); at != end;) {
      auto waiter = waiters_.find((at++)->second);
      wake(waiter);
    }
  }
  while (changes_.size() > changes_kept) {
    auto [old, job] = changes_.front();
    changes_.pop_front();
    forgotten_ = old;
    if (auto last = latest_.find(job); last != latest_.end() && last->second <= old) {
      latest_.erase(last);
    }
  }
}

bool Feed::wait_for_change(JobId job, Seq after, Duration at_most, std::function<void()> then) {
  std::lock_guard lock(mutex_);
  if (closed_ || changed_since(job, after)) {
    timer_.after(Duration{}, std::move(then));
    return true;
  }
  if (waiters_.size() >= waiters_max) return false;
  std::uint64_t waiter = ++last_waiter_;
  Timer::Id deadline = timer_.after(at_most, [this, waiter] { pass_deadline(waiter); });
  waiters_.emplace(waiter, Waiter{job, std::move(then), deadline});
  by_job_.emplace(job, waiter);
  return true;
}

void Feed::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  while (!waiters_.empty()) wake(waiters_.begin());
}

bool Feed::is_closed() {
  std::lock_guard lock(mutex_);
  return closed_;
}

void Feed::pass_deadline(std::uint64_t waiter) {
  std::lock_guard lock(mutex_);
  // It may have been woken while the deadline was already under way.
  if (auto found = waiters_.find(waiter); found != waiters_.end()) wake(found);
}

bool Feed::changed_since(JobId job, Seq after) const {
  if (auto last = latest_.find(job); last != latest_.end()) return last->second > after;
  return after < forgotten_;
}

void Feed::wake(std::map<std::uint64_t, Waiter>::iterator waiter) {
  timer_.cancel(waiter->second.deadline);
  timer_.after(Duration{}, std::move(waiter->second.then));
  for (auto [at, end] = by_job_.equal_range(waiter->second.job); at != end; ++at) {
    if (at->second != waiter->first) continue;
    by_job_.erase(at);
    break;
  }
  waiters_.erase(waiter);
}

}  // namespace keel
