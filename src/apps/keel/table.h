// Columns for people: as wide as their widest cell, two spaces apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }

  // As many cells as the head has. Cells are made printable: they may hold what users chose.
  void add(const std::vector<std::string>& cells);

  // Each line begins with `indent` and ends without trailing spaces.
  std::string print(std::string_view indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Columns that `text` takes on a terminal; good for Latin, Greek, Cyrillic and East Asian scripts.
std::size_t width_of(std::string_view text);

// The cell, or "-" where it is empty.
std::string or_dash(std::string_view cell);

}  // namespace keel::cli
