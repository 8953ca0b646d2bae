#include "adapters/processes/account.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace keel {

Account account_of(const Owner& owner) {
  Account account{.name = owner.user, .shell = "/bin/sh", .groups = {owner.gid}};
  constexpr std::size_t entry_bytes_max = 64 << 10;
  std::vector<char> buffer(entry_bytes_max);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(owner.uid, &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return account;
  }
  account.name = entry.pw_name;
  account.home = entry.pw_dir;
  if (*entry.pw_shell != '\0') account.shell = entry.pw_shell;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(entry.pw_name, owner.gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(entry.pw_name, owner.gid, groups.data(), &count) < 0) return account;
  }
  groups.resize(static_cast<std::size_t>(count));
  account.groups = groups;
  return account;
}

}  // namespace keel
