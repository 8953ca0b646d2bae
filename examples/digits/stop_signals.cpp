#include "stop_signals.h"

#include <csignal>

namespace keel::digits {
namespace {

volatile std::sig_atomic_t stop_noted = 0;
volatile std::sig_atomic_t save_noted = 0;

void note(int signal) {
  if (signal == SIGTERM) stop_noted = 1;
  if (signal == SIGUSR1) save_noted = 1;
}

}  // namespace

void note_signals() {
  struct sigaction action {};
  action.sa_handler = note;
  (void)sigemptyset(&action.sa_mask);  // Fails for a null pointer only.
  (void)sigaction(SIGTERM, &action, nullptr);
  (void)sigaction(SIGUSR1, &action, nullptr);
}

bool stop_asked() { return stop_noted != 0; }

bool take_save_request() {
  if (save_noted == 0) return false;
  save_noted = 0;
  return true;
}

}  // namespace keel::digits
