#include "pattern.h"

#include <regex.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "source.h"

namespace keel::tidy {

struct Pattern::Compiled {
  regex_t regex{};
  ~Compiled() { regfree(&regex); }
};

Pattern::Pattern(const std::string& expression) {
  auto compiled = std::make_shared<Compiled>();
  if (regcomp(&compiled->regex, expression.c_str(), REG_EXTENDED) != 0) {
    std::fprintf(stderr, "no regular expression: %s\n", expression.c_str());
    std::abort();
  }
  compiled_ = std::move(compiled);
}

std::optional<Match> Pattern::find(std::string_view text, std::size_t from) const {
  std::array<regmatch_t, 8> spans{};
  spans[0].rm_so = static_cast<regoff_t>(from);
  spans[0].rm_eo = static_cast<regoff_t>(text.size());
  const int flags = REG_STARTEND | (from == 0 ? 0 : REG_NOTBOL);
  // REG_STARTEND tells it where the text ends.
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
  if (regexec(&compiled_->regex, text.data(), spans.size(), spans.data(), flags) != 0) {
    return std::nullopt;
  }
  Match match;
  match.position = static_cast<std::size_t>(spans[0].rm_so);
  match.end = static_cast<std::size_t>(spans[0].rm_eo);
  for (std::size_t i = 0; i <= compiled_->regex.re_nsub && i < spans.size(); ++i) {
    const auto begin = static_cast<std::size_t>(spans[i].rm_so);
    const auto length = static_cast<std::size_t>(spans[i].rm_eo - spans[i].rm_so);
    match.groups.emplace_back(spans[i].rm_so < 0 ? std::string_view() : text.substr(begin, length));
  }
  return match;
}

std::vector<Match> Pattern::find_all(std::string_view text) const {
  std::vector<Match> matches;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::optional<Match> match = find(text, from);
    if (!match) break;
    from = match->end > match->position ? match->end : match->end + 1;
    matches.push_back(*match);
  }
  return matches;
}

std::vector<int> Pattern::lines_in(std::string_view text) const {
  std::vector<int> numbers;
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (is_in(line)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace keel::tidy
