#include "wire/path.h"

namespace keel {

bool is_inside_path(std::string_view path) {
  if (path.find_first_of(std::string_view("\0\\", 2)) != path.npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace keel
