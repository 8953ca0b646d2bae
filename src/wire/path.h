// Paths of files that travel with a job.
#pragma once

#include <string_view>

namespace keel {

// True for a relative path that stays inside the directory it is laid in: segments parted by "/",
// none of them empty, "." or "..", no NUL and no backslash, which some take for "/".
bool is_inside_path(std::string_view path);

}  // namespace keel
