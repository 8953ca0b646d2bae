#include "apps/keel/interrupt.h"

#include <poll.h>

#include <atomic>
#include <csignal>

namespace keel::cli {
namespace {

std::atomic<int> count{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use it");

void on_signal(int) { count.fetch_add(1); }

}  // namespace

void count_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupts() { return count.load(); }

void sleep_ms(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

}  // namespace keel::cli
