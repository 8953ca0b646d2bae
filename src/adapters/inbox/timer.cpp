#include "adapters/inbox/timer.h"

#include <algorithm>
#include <chrono>

namespace keel {

Timer::Timer() : thread_([this] { run(); }) {}

Timer::~Timer() { stop(); }

Timer::Id Timer::after(Duration wait, std::function<void()> then) {
  auto at = Clock::now() + std::chrono::microseconds(std::clamp(wait, Duration{}, hours(24)).us);
  std::lock_guard lock(mutex_);
  Id id = ++last_id_;
  if (stopped_) return id;
  auto added = waiting_.emplace(Due{at, id}, std::move(then)).first;
  due_.emplace(id, at);
  if (added == waiting_.begin()) changed_.notify_one();
  return id;
}

bool Timer::cancel(Id id) {
  std::function<void()> dropped;  // destroyed outside the lock: it may own anything
  std::lock_guard lock(mutex_);
  auto due = due_.find(id);
  if (due == due_.end()) return false;
  auto found = waiting_.find(Due{due->second, id});
  dropped = std::move(found->second);
  waiting_.erase(found);
  due_.erase(due);
  return true;
}

void Timer::stop() {
  {
    std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = Clock::now();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  std::map<Due, std::function<void()>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(waiting_);
  due_.clear();
}

void Timer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    auto first = waiting_.begin();
    if (stopped_ && (first == waiting_.end() || first->first.first > *stopped_)) return;
    if (first == waiting_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < first->first.first) {
      auto at = first->first.first;  // a copy: the entry may go while we wait
      changed_.wait_until(lock, at);
      continue;
    }
    auto then = std::move(first->second);
    due_.erase(first->first.second);
    waiting_.erase(first);
    lock.unlock();
    then();
    then = nullptr;
    lock.lock();
  }
}

}  // namespace keel
