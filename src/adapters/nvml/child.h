// A keel-nvml process that we own: started, spoken to by packets, killed, and seen to its end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "keel/v1/nvml.pb.h"

namespace keel::nvml {

class Child {
 public:
  // `program --serve --library LIBRARY`, its stdin a socket to us. It ends when the calling thread
  // does.
  static Result<Child, std::string> start(const std::string& program, const std::string& library);

  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        pidfd_(std::exchange(other.pidfd_, -1)),
        socket_(std::exchange(other.socket_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pidfd_, other.pidfd_);
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~Child();  // Neither kills nor waits: what is not reaped stays init's.

  int socket() const { return socket_; }  // readable: it has said something
  int pidfd() const { return pidfd_; }    // readable: it has ended

  // Never blocks; what cannot be sent shows in what is not answered.
  void ask(const v1::NvmlQuestion& question);

  // The next thing it said, if anything. What is no message is one that says nothing.
  std::optional<v1::NvmlAnswer> hear();

  void kill();
  void hang_up();  // its packets are not wanted any more

  // How it ended ("was killed by signal 11", "ended with code 1"), if it has.
  std::optional<std::string> reap();

 private:
  Child(pid_t pid, int pidfd, int socket) : pid_(pid), pidfd_(pidfd), socket_(socket) {}

  pid_t pid_{};
  int pidfd_ = -1;
  int socket_ = -1;
};

}  // namespace keel::nvml
