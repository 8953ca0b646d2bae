#include "adapters/nvml/devices.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace keel {

using nvml::Child;
using nvml::Line;
using nvml::Overseer;

namespace {

constexpr Duration longest_sleep = seconds(60);

// How long the end of our processes is waited for when we end; what hangs in the kernel stays.
constexpr int end_within_ms = 2000;

}  // namespace

NvmlDevices::NvmlDevices(Options options, nvml::XidCatalogue catalogue, Clock& clock)
    : options_(std::move(options)),
      catalogue_(std::move(catalogue)),
      clock_(clock),
      changed_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      poke_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { work(); }) {}

NvmlDevices::~NvmlDevices() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  ::eventfd_write(poke_, 1);
  thread_.join();
  ::close(changed_);
  ::close(poke_);
}

NvmlDevices::State NvmlDevices::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

v1::NvmlReport NvmlDevices::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

bool NvmlDevices::await_first(Duration at_most) {
  std::unique_lock lock(mutex_);
  return first_.wait_for(lock, std::chrono::microseconds(at_most.us), [this] { return known_; });
}

std::optional<std::vector<std::string>> NvmlDevices::take_news() {
  eventfd_t count{};
  if (::eventfd_read(changed_, &count) != 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void NvmlDevices::hold(std::set<DeviceId> held) {
  const std::lock_guard lock(mutex_);
  if (held_ == held) return;
  held_ = std::move(held);
  ::eventfd_write(poke_, 1);
}

void NvmlDevices::work() {
  Overseer overseer(options_.times, catalogue_);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) break;
      if (held_) overseer.hold(*held_, clock_.now());
    }
    listen(overseer);
    look_after_abandoned(overseer);
    carry_out(overseer);
    publish(overseer);
    wait(overseer.next_wake());
  }
  end_all();
}

// Does what is due, until nothing is.
void NvmlDevices::carry_out(Overseer& overseer) {
  for (;;) {
    const auto orders = overseer.due(clock_.now());
    if (orders.empty()) return;
    for (const Overseer::Order& order : orders) {
      const auto child = children_.find(order.line);
      switch (order.kind) {
        case Overseer::Order::Kind::start: {
          auto started = Child::start(options_.program, options_.library);
          if (started) {
            children_.emplace(order.line, *std::move(started));
            overseer.started(order.line);
          } else {
            overseer.not_started(order.line, started.error(), clock_.now());
          }
          break;
        }
        case Overseer::Order::Kind::ask:
          child->second.ask(order.question);
          overseer.asked(order.line, clock_.now());
          break;
        case Overseer::Order::Kind::kill: child->second.kill(); break;
        case Overseer::Order::Kind::abandon:
          child->second.hang_up();
          abandoned_.emplace_back(order.line, std::move(child->second));
          children_.erase(child);
          break;
      }
    }
  }
}

// Hears everything that was said before it believes that a process has ended.
void NvmlDevices::listen(Overseer& overseer) {
  for (const Line line : nvml::lines) {
    const auto child = children_.find(line);
    if (child == children_.end()) continue;
    const auto ended = child->second.reap();
    while (const auto answer = child->second.hear()) overseer.heard(line, *answer, clock_.now());
    if (!ended) continue;
    children_.erase(child);
    overseer.ended(line, *ended, clock_.now());
  }
}

void NvmlDevices::look_after_abandoned(Overseer& overseer) {
  std::erase_if(abandoned_, [&](auto& one) {
    if (!one.second.reap()) return false;
    overseer.late_end(one.first, clock_.now());
    return true;
  });
}

void NvmlDevices::wait(Instant until) {
  std::vector<pollfd> wanted{{.fd = poke_, .events = POLLIN, .revents = 0}};
  const auto add = [&](int fd) {
    if (fd >= 0) wanted.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  };
  for (const auto& [line, child] : children_) {
    add(child.socket());
    add(child.pidfd());
  }
  for (const auto& [line, child] : abandoned_) add(child.pidfd());
  const Instant now = clock_.now();
  const Duration left = std::min(std::max(until, now) - now, longest_sleep);
  ::poll(wanted.data(), wanted.size(), static_cast<int>((left.us + 999) / 1000));
  eventfd_t count{};
  ::eventfd_read(poke_, &count);
}

void NvmlDevices::publish(Overseer& overseer) {
  State state{.devices = {}, .warnings = {"the GPUs of this host have not been read yet"}};
  if (overseer.census().is_known()) {
    state = {.devices = overseer.census().devices(), .warnings = overseer.warnings()};
  }
  auto news = overseer.take_news();
  v1::NvmlReport report = overseer.report();
  const std::lock_guard lock(mutex_);
  const bool first = !known_ && overseer.census().is_known();
  const bool changed = first || !(state == state_) || !news.empty();
  state_ = std::move(state);
  report_ = std::move(report);
  news_.insert(news_.end(), news.begin(), news.end());
  if (first) {
    known_ = true;
    first_.notify_all();
  }
  if (changed) ::eventfd_write(changed_, 1);
}

void NvmlDevices::end_all() {
  for (auto& [line, child] : children_) child.kill();
  for (auto& [line, child] : children_) {
    pollfd end{.fd = child.pidfd(), .events = POLLIN, .revents = 0};
    ::poll(&end, 1, end_within_ms);
    (void)child.reap();  // What has not ended by now is left to init.
  }
}

}  // namespace keel
