// The path and query of a request, taken apart strictly.
//
//   target = path [ "?" query ]          query = pair *( "&" pair )
//   path   = 1*( "/" segment )           pair  = name "=" value
//
// Segments, names and values are percent-encoded UTF-8 without NUL; in a query "+" is a space.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel {

struct Target {
  std::string path;                                        // as sent
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in written order
};

// Nothing where the target is not of this form, in its path or in its query.
std::optional<Target> parse_target(std::string_view target);

// Whether `path` is of the form of `pattern` ("/v1/jobs/{job}:cancel"), and what stands for the
// braces, decoded; empty where the pattern has none. One pair of braces at most; what it stands for
// is not empty and goes no further than its segment.
std::optional<std::string> match(std::string_view pattern, std::string_view path);

}  // namespace keel
