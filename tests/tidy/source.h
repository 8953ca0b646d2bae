// The source tree as values: what the rules read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::tidy {

struct Source {
  std::string path;  // from the top of the tree, with '/': "src/core/place.cpp"
  std::string text;
};

// What breaks a rule, and where.
struct Finding {
  std::string path;
  int line{};  // 1-based; 0: the file as a whole
  std::string what;
  friend bool operator==(const Finding&, const Finding&) = default;
};

std::string print(const Finding& finding);

// Every text file of the tree at `root`, in ascending order of path; build folders and what git
// keeps for itself are left out.
std::vector<Source> read_tree(const std::string& root);

// The folders of the tree at `root` below `folder`, in ascending order.
std::vector<std::string> read_folders(const std::string& root, const std::string& folder);

// The lines of a text without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

// The 1-based line of a position in a text.
int line_at(std::string_view text, std::size_t position);

// C++ with comments and the insides of literals blanked out, line by line in the same places.
std::string code_of(std::string_view text);

bool is_cpp(const Source& source);     // .h or .cpp
bool is_script(const Source& source);  // starts with "#!", or ends in .sh, .cmake or CMakeLists.txt
bool is_test(const Source& source);    // *_test.cpp, or anything below tests/

}  // namespace keel::tidy
