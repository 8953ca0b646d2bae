// Exact shares in whole units. Used within share/ only.
#pragma once

#include <vector>

#include "share/forest.h"

namespace keel::share {

// Largest remainder from the root down: each place's whole units are handed to its children, first
// what is whole in their exact shares, then one each by remainder; ties go to the one that has
// waited longer, then to the lower id. By place and resource; `exact` is in the forest's units.
std::vector<Amounts> whole_amounts(const Forest& forest, const std::vector<Vector>& exact);

}  // namespace keel::share
