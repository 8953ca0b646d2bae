// A number that is not interchangeable with other numbers: Strong<struct JobTag> is no tenant's id.
#pragma once

#include <compare>
#include <cstdint>

namespace keel {

template <class Tag, class Rep = std::uint64_t>
struct Strong {
  using rep = Rep;

  Rep value{};

  friend constexpr auto operator<=>(Strong, Strong) = default;
};

}  // namespace keel
