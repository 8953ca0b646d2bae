#include "apps/keeld/user.h"

#include <pwd.h>

namespace keel {

// Called before any thread is started.
std::optional<Owner> find_user(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) return std::nullopt;
  return Owner{name, entry->pw_uid, entry->pw_gid};
}

}  // namespace keel
