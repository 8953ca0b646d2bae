#include <algorithm>
#include <string>

#include "pattern.h"
#include "rules.h"

namespace keel::tidy {
namespace {

// Written in two parts, so that this file does not break its own rules.
const std::string markers =
    "\\b(TO"
    "DO|FIX"
    "ME|X"
    "XX|HA"
    "CK)\\b";
const std::string paths =
    "(^|[^[:alnum:]_/.}])(/wo"
    "rk/|/ho"
    "me/[a-z])";

Findings search(const Source& source, const std::string& pattern, const std::string& what) {
  Findings findings;
  for (const int line : Pattern(pattern).lines_in(source.text)) {
    findings.push_back({source.path, line, what});
  }
  return findings;
}

// "LogManager" -> "log_manager".
std::string lower_words(const std::string& name) {
  std::string words;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !words.empty() && words.back() != '_') words += '_';
    words += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

// The empty word in `name`, or "".
std::string empty_word(const std::string& name) {
  static const Pattern words(
      "(^|[_.-])(manager|handler|helper|helpers|util|utils|common|misc|data|info|context|process|"
      "do|impl)($|[_.-])");
  const auto found = words.find(lower_words(name));
  return found ? found->groups[2] : "";
}

// Whether folder names count: everywhere but in examples/, where "data" is data.
bool folders_count(const std::string& path) { return !path.starts_with("examples/"); }

}  // namespace

Findings leftover_markers(const Source& source) {
  return search(source, markers, "an unfinished thought; those are issues");
}

Findings developers_paths(const Source& source) {
  return search(source, paths, "a path of one developer's machine");
}

Findings empty_words_in_names(const Source& source) {
  Findings findings;
  std::size_t start = folders_count(source.path) ? 0 : source.path.rfind('/') + 1;
  while (start < source.path.size()) {
    const std::size_t end = std::min(source.path.find('/', start), source.path.size());
    const std::string word = empty_word(source.path.substr(start, end - start));
    if (!word.empty()) findings.push_back({source.path, 0, "'" + word + "' in its name"});
    start = end + 1;
  }
  if (!is_cpp(source)) return findings;
  static const Pattern type(R"(\b(class|struct|enum class|using)\s+(\w+)\s*(\{|:|=|final))");
  const std::string code = code_of(source.text);
  for (const Match& match : type.find_all(code)) {
    const std::string word = empty_word(match.groups[2]);
    if (!word.empty()) {
      const int line = line_at(code, match.position);
      findings.push_back({source.path, line, "'" + word + "' in the name of a type"});
    }
  }
  return findings;
}

}  // namespace keel::tidy
