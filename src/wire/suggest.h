// "Did you mean …?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel {

// The number of single-character slips (one left out, one too many, one wrong, two swapped) that
// turn one into the other.
std::size_t slips_between(std::string_view a, std::string_view b);

// The candidate that was most probably meant, or empty where none is near. Case, "-" and "_" do not
// count; of equally near ones the first.
std::string nearest(std::string_view given, const std::vector<std::string>& candidates);

}  // namespace keel
