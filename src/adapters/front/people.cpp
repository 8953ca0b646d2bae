#include "adapters/front/people.h"

#include <pwd.h>

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

}  // namespace keel
