#include "wire/suggest.h"

#include <algorithm>

namespace keel {
namespace {

constexpr std::size_t word_bytes_max = 64;  // nothing longer is a slip of a field's name
constexpr std::size_t beginning_bytes_min = 3;

std::string folded(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '-' || c == '_' || c == ' ') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace

std::size_t slips_between(std::string_view a, std::string_view b) {
  // Three rows of the usual table: two back for swaps, one back, and the one being filled.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + wrong});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view given, const std::vector<std::string>& candidates) {
  if (given.size() > word_bytes_max) return {};
  const std::string word = folded(given);
  const std::string* best = nullptr;
  std::size_t best_slips = 1 + word.size() / 3;  // a third of it may be wrong
  for (const std::string& candidate : candidates) {
    const std::size_t slips = slips_between(word, folded(candidate));
    if (slips < best_slips) {
      best = &candidate;
      best_slips = slips;
    }
  }
  if (best != nullptr) return *best;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= beginning_bytes_min && folded(candidate).starts_with(word);
    if (begins) return candidate;
  }
  return {};
}

}  // namespace keel
