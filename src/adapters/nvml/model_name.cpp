#include "adapters/nvml/model_name.h"

#include <algorithm>
#include <array>

namespace keel::nvml {
namespace {

constexpr std::array<std::string_view, 12> left_out{"nvidia", "tesla", "geforce", "hbm2",
                                                    "hbm2e",  "hbm3",  "hbm3e",   "sxm",
                                                    "sxm2",   "sxm3",  "sxm4",    "sxm5"};

}  // namespace

std::string model_name(std::string_view product) {
  std::string name, word;
  const auto end_word = [&] {
    if (!word.empty() && std::ranges::find(left_out, word) == left_out.end()) {
      name += (name.empty() ? "" : "-") + word;
    }
    word.clear();
  };
  for (char c : product) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool in_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (in_word) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  return name.empty() ? "unknown" : name;
}

}  // namespace keel::nvml
