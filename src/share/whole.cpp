#include "share/whole.h"

#include <algorithm>
#include <tuple>

namespace keel::share {
namespace {

// By place: since when the longest-waiting leaf below waits.
std::vector<std::int64_t> waiting_of(const Forest& forest) {
  std::vector<std::int64_t> since(forest.places.size(), INT64_MAX);
  for (std::size_t i = forest.places.size(); i-- > 1;) {
    const Place& place = forest.places[i];
    if (place.children.empty()) since[i] = place.node->waiting_since;
    since[place.parent] = std::min(since[place.parent], since[i]);
  }
  return since;
}

struct Claimant {
  Fraction remainder;
  std::int64_t waiting_since{};
  std::size_t place{};
};

bool served_before(const Claimant& a, const Claimant& b) {
  if (a.remainder != b.remainder) return a.remainder > b.remainder;
  return std::tie(a.waiting_since, a.place) < std::tie(b.waiting_since, b.place);
}

}  // namespace

std::vector<Amounts> whole_amounts(const Forest& forest, const std::vector<Vector>& exact) {
  std::vector<Amounts> whole(forest.places.size(), Amounts(forest.resources()));
  const std::vector<std::int64_t> since = waiting_of(forest);
  for (std::size_t r = 0; r < forest.resources(); ++r) {
    const Fraction unit = forest.units[r];
    whole[0][r] = (exact[0][r] * unit).floor();
    for (std::size_t i = 0; i < forest.places.size(); ++i) {
      std::int64_t left = whole[i][r];
      std::vector<Claimant> claimants;
      for (const std::size_t child : forest.places[i].children) {
        const Fraction amount = exact[child][r] * unit;
        const std::int64_t floor = amount.floor();
        whole[child][r] = floor;
        left -= floor;
        Fraction remainder = amount - Fraction(floor);
        if (!remainder.is_zero()) claimants.push_back({std::move(remainder), since[child], child});
      }
      if (left <= 0) continue;
      std::ranges::sort(claimants, served_before);
      for (std::size_t k = 0; k < claimants.size() && left > 0; ++k, --left) {
        whole[claimants[k].place][r] += 1;
      }
    }
  }
  return whole;
}

}  // namespace keel::share
