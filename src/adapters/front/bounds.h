// Numbers in requests against what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/front/error.h"

namespace keel {

struct Bound {
  std::string_view field;
  std::int64_t min{};
  std::int64_t max{};
};

inline std::optional<pb::ApiError> out_of(const Bound& bound, std::int64_t value) {
  if (value >= bound.min && value <= bound.max) return std::nullopt;
  return refuse(ErrorCode::invalid, {bound.field, std::to_string(value),
                                     std::to_string(bound.min) + " to " + std::to_string(bound.max),
                                     "Choose a number within the limit."});
}

}  // namespace keel
