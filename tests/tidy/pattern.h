// A regular expression (POSIX extended, with GNU's \b, \w and \s). With the standard library's, the
// rules would take longer to build than much of the code that they read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::tidy {

struct Match {
  std::size_t position{};           // in the text searched
  std::size_t end{};                // behind it
  std::vector<std::string> groups;  // 0 is the whole; "" for a group that took no part
};

class Pattern {
 public:
  // Ends the program where `expression` is none.
  explicit Pattern(const std::string& expression);

  // The first match that begins at or after `from`. ^ is the beginning of the text, $ its end.
  std::optional<Match> find(std::string_view text, std::size_t from = 0) const;

  bool is_in(std::string_view text) const { return find(text).has_value(); }

  // Every match, from left to right, without overlap.
  std::vector<Match> find_all(std::string_view text) const;

  // The 1-based numbers of the lines that it is in.
  std::vector<int> lines_in(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace keel::tidy
