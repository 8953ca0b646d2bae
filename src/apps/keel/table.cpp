#include "apps/keel/table.h"

#include <algorithm>

#include "base/check.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

bool is_wide(char32_t code) {
  return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
         (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
         (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
         (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
}

bool is_combining(char32_t code) { return code >= 0x300 && code <= 0x36f; }

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto character = first_character(text);
    const char32_t code = character ? character->code : 0;
    width += is_wide(code) ? 2U : is_combining(code) ? 0U : 1U;
    text.remove_prefix(character ? character->length : 1);
  }
  return width;
}

std::string or_dash(std::string_view cell) { return cell.empty() ? "-" : std::string(cell); }

void Table::add(const std::vector<std::string>& cells) {
  check(cells.size() == rows_.front().size(), "a row has a cell for each column");
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(printable(cell));
}

std::string Table::print(std::string_view indent) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace keel::cli
