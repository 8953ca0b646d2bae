// The order to stop as a signal, for a disk that is too full for the order's file. It does not
// outlive the shim, which takes its task along anyway.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <optional>

#include "adapters/processes/identity.h"
#include "model/job.h"

namespace keel {

constexpr int stop_word = SIGUSR1;

// To exactly this shim, or to nobody.
void send_stop(const Identity& shim, StopCause cause);

// What it says; nothing where the signal is no such order.
std::optional<StopCause> heard_stop(const signalfd_siginfo& signal);

}  // namespace keel
