// What a host knows of its users.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "model/job.h"

namespace keel {

struct Account {
  std::string name{};
  std::string home{};  // empty: the host does not know this user
  std::string shell{};
  std::vector<gid_t> groups{};  // the owner's gid among them
};

// Asks the host's user database, which may be slow where that is a network's. Any thread.
Account account_of(const Owner& owner);

}  // namespace keel
