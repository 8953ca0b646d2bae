// Names of this host's people.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "model/job.h"

namespace keel {

// The owner of what a person with this uid submits: their name from the password database, or
// "uid-N" where it has none. May read files, or ask a directory service. Any thread.
Owner person(std::uint32_t uid, std::uint32_t gid);

// The same, remembering names for a while: a look-up costs more than everything else about a
// submission. Any thread.
class People {
 public:
  Owner find(std::uint32_t uid, std::uint32_t gid);

 private:
  using SteadyClock = std::chrono::steady_clock;
  static constexpr auto remembered_for = std::chrono::seconds(10);
  static constexpr std::size_t remembered_max = 10'000;

  std::mutex mutex_;
  std::map<std::uint32_t, std::pair<std::string, SteadyClock::time_point>> names_;
};

}  // namespace keel
