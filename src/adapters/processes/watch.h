// One descriptor that becomes readable when a task may have changed: its shim ended, or wrote one
// of the files that tell about it. One thread.
#pragma once

#include <map>
#include <string>

#include "adapters/processes/files.h"
#include "adapters/processes/identity.h"

namespace keel {

class Watch {
 public:
  static Result<Watch, std::string> open();

  // For poll(): readable from a change until the next take().
  int fd() const { return poll_.get(); }

  // Begins to watch a task's directory, once.
  void watch_directory(const std::string& task, int directory);
  // Begins to watch for the end of a shim, once.
  void watch_shim(const std::string& task, const Identity& shim);
  void forget(const std::string& task);

  // After one has written a file oneself: only what others wrote stays to be heard.
  void pass_over_own();

  // Whatever happened until now is about to be looked at.
  void take();

 private:
  struct Watched {
    int directory = -1;  // inotify's number of it
    Descriptor shim{};
  };

  bool drain();

  Descriptor poll_;
  Descriptor changes_;  // inotify
  Descriptor pending_;  // eventfd: heard, and not yet taken
  std::map<std::string, Watched> watched_;
};

}  // namespace keel
