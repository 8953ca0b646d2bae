#include "adapters/front/people.h"

#include <pwd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "wire/text.h"

namespace keel {

Owner person(std::uint32_t uid, std::uint32_t gid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 << 10);
  while (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < (1 << 20)) {
    buffer.resize(buffer.size() * 2);
  }
  std::string name = found && found->pw_name ? as_utf8(found->pw_name) : "";
  if (name.empty()) name = "uid-" + std::to_string(uid);
  return {name, uid, gid};
}

Owner People::find(std::uint32_t uid, std::uint32_t gid) {
  auto now = SteadyClock::now();
  {
    std::lock_guard lock(mutex_);
    auto known = names_.find(uid);
    if (known != names_.end() && now - known->second.second < remembered_for) {
      return {known->second.first, uid, gid};
    }
  }
  Owner owner = person(uid, gid);  // without the lock: it may take its time
  std::lock_guard lock(mutex_);
  if (names_.size() >= remembered_max) names_.clear();
  names_[uid] = {owner.user, now};
  return owner;
}

}  // namespace keel
