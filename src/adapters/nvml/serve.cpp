#include "adapters/nvml/serve.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "adapters/nvml/reader.h"

namespace keel::nvml {
namespace {

// Nothing else to do for a process whose owner is gone; and no library is asked to tidy up.
[[noreturn]] void leave() { ::_exit(0); }

void send(int socket, const v1::NvmlAnswer& answer) {
  const std::string bytes = answer.SerializeAsString();
  ssize_t sent{};
  do {
    sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) leave();
}

v1::NvmlQuestion receive(int socket) {
  std::array<char, 256> bytes{};
  ssize_t length{};
  do {
    length = ::recv(socket, bytes.data(), bytes.size(), 0);
  } while (length < 0 && errno == EINTR);
  v1::NvmlQuestion question;
  if (length <= 0 || !question.ParseFromArray(bytes.data(), static_cast<int>(length))) leave();
  return question;
}

}  // namespace

int serve(int socket, const std::string& library) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Reader reader(library, [socket](const v1::NvmlAnswer& answer) { send(socket, answer); });
  for (;;) {
    const v1::NvmlQuestion question = receive(socket);
    if (question.protocol() != protocol) return 1;
    if (question.has_survey()) {
      if (!reader.survey(question.survey().from())) return 0;
    } else {
      reader.watch(question.watch().wait_ms());
      return 0;
    }
  }
}

}  // namespace keel::nvml
