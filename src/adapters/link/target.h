// Where an agent may dial to.
#pragma once

#include <string>
#include <string_view>

namespace keel {

// True for "unix:PATH", and for host:port where the host is this host's loopback.
inline bool stays_on_this_host(std::string_view target) {
  if (target.starts_with("unix:")) return target.size() > 5;
  auto colon = target.rfind(':');
  if (colon == target.npos || colon + 1 == target.size()) return false;
  std::string_view host = target.substr(0, colon);
  return host == "127.0.0.1" || host == "[::1]" || host == "localhost";
}

}  // namespace keel
