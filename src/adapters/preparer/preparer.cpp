#include "adapters/preparer/preparer.h"

namespace keel {

Preparer::Preparer(Parts parts) : parts_(std::move(parts)) {
  for (int i = 0; i < parts_.threads; ++i) threads_.emplace_back([this] { work(); });
}

Preparer::~Preparer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  arrived_.notify_all();
  parts_.give_up();
  for (std::thread& thread : threads_) thread.join();
}

void Preparer::begin(const PrepareOrder& order) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(order);
  }
  arrived_.notify_one();
}

std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> Preparer::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

void Preparer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    arrived_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    const PrepareOrder order = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    auto outcome = prepare(order);
    lock.lock();
    finished_.emplace_back(order.key, std::move(outcome));
    parts_.wake();
  }
}

Result<Done, RuntimeError> Preparer::prepare(const PrepareOrder& order) {
  for (const TakenFile& file : order.spec.files) {
    if (const auto fetched = parts_.fetch(file.digest); !fetched) {
      return RuntimeError{file.path + ": " + fetched.error()};
    }
  }
  return parts_.runtime.prepare(order);
}

}  // namespace keel
