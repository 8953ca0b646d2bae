#include "adapters/link/mail.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

namespace keel {

Mail::Mail(std::size_t waiting_max)
    : waiting_max_(waiting_max), descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  check(descriptor_ >= 0, "an agent has a descriptor left at its start");
}

Mail::~Mail() { ::close(descriptor_); }

bool Mail::put(Heard heard) {
  bool about_connection = std::holds_alternative<ServerConnected>(heard.message) ||
                          std::holds_alternative<ServerDisconnected>(heard.message);
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= waiting_max_ && !about_connection) return false;
  waiting_.push_back(std::move(heard));
  std::uint64_t one = 1;
  (void)!write(descriptor_, &one, sizeof one);  // a full counter is as readable as can be
  return true;
}

std::vector<Mail::Heard> Mail::take() {
  std::vector<Heard> taken;
  std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  (void)!read(descriptor_, &count, sizeof count);  // nothing to read: nothing was put
  taken.swap(waiting_);
  return taken;
}

void Mail::note_trouble(std::string why) {
  std::lock_guard lock(mutex_);
  trouble_ = std::move(why);
}

std::string Mail::trouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace keel
