// The planted mistakes by name, for people.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/plant.h"

namespace keel::sim {

struct PlantKind {
  Plant plant{};
  std::string_view name;
  std::string_view what;  // goes wrong, in a few words
};

std::span<const PlantKind> all_plants();
std::optional<PlantKind> plant_named(std::string_view name);

}  // namespace keel::sim
