#include "adapters/processes/watch.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "adapters/processes/task_files.h"

namespace keel {
namespace {

bool add(int poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool has_ended(const Descriptor& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

}  // namespace

Result<Watch, std::string> Watch::open() {
  Watch watch;
  watch.poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  watch.changes_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  watch.pending_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!watch.poll_ || !watch.changes_ || !watch.pending_ ||
      !add(watch.poll_.get(), watch.changes_.get()) ||
      !add(watch.poll_.get(), watch.pending_.get())) {
    return failure("watching tasks");
  }
  return watch;
}

void Watch::watch_directory(const std::string& task, int directory) {
  Watched& watched = watched_[task];
  if (watched.directory >= 0) return;
  const std::string path = "/proc/self/fd/" + std::to_string(directory);
  watched.directory = ::inotify_add_watch(changes_.get(), path.c_str(), IN_MOVED_TO);
}

void Watch::watch_shim(const std::string& task, const Identity& shim) {
  Watched& watched = watched_[task];
  if (watched.shim) return;
  watched.shim = hold(shim);
  if (watched.shim) (void)add(poll_.get(), watched.shim.get());  // The agent's tick remains.
}

void Watch::forget(const std::string& task) {
  const auto found = watched_.find(task);
  if (found == watched_.end()) return;
  if (found->second.directory >= 0) {
    ::inotify_rm_watch(changes_.get(), found->second.directory);
  }
  watched_.erase(found);
}

// True where a file appeared that a shim writes.
bool Watch::drain() {
  bool theirs = false;
  alignas(inotify_event) char events[16 * (sizeof(inotify_event) + NAME_MAX + 1)];
  for (;;) {
    const ssize_t size = ::read(changes_.get(), events, sizeof events);
    if (size <= 0) return theirs;
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, events + at, sizeof event);
      const char* name = events + at + sizeof event;
      const bool named = event.len > 0;
      theirs |= (event.mask & IN_Q_OVERFLOW) != 0;
      theirs |= named && (std::strcmp(name, exit_file) == 0 || std::strcmp(name, shim_file) == 0);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

void Watch::pass_over_own() {
  if (drain()) (void)::eventfd_write(pending_.get(), 1);  // Cannot fail below 2^64 - 1.
}

void Watch::take() {
  drain();
  eventfd_t count{};
  (void)::eventfd_read(pending_.get(), &count);
  for (auto& [task, watched] : watched_) {
    // Readable for ever from now on; it has been heard. Closing it takes it out of the poll.
    if (watched.shim && has_ended(watched.shim)) watched.shim = Descriptor();
  }
}

}  // namespace keel
