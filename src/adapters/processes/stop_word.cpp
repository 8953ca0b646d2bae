#include "adapters/processes/stop_word.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "wire/convert.h"

namespace keel {

void send_stop(const Identity& shim, StopCause cause) {
  const Descriptor held = hold(shim);
  if (!held) return;
  siginfo_t word{};
  word.si_signo = stop_word;
  word.si_code = SI_QUEUE;
  word.si_pid = ::getpid();
  word.si_uid = ::getuid();
  word.si_value.sival_int = to_pb(cause);
  ::syscall(SYS_pidfd_send_signal, held.get(), stop_word, &word, 0);
}

std::optional<StopCause> heard_stop(const signalfd_siginfo& signal) {
  // A plain kill(1) is no order, whoever may have sent it.
  const bool queued =
      static_cast<int>(signal.ssi_signo) == stop_word && signal.ssi_code == SI_QUEUE;
  if (!queued || !v1::StopCause_IsValid(signal.ssi_int)) return std::nullopt;
  const auto cause = from_pb(static_cast<v1::StopCause>(signal.ssi_int));
  if (!cause) return std::nullopt;
  return *cause;
}

}  // namespace keel
