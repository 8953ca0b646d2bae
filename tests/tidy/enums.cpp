#include <set>
#include <string>

#include "pattern.h"
#include "rules.h"

namespace keel::tidy {
namespace {

bool is_model(const Source& source) {
  return source.path.starts_with("src/model/") && is_cpp(source) && !is_test(source);
}

// All that model's .cpp files say; what they print stands there.
std::string code_of_model(const std::vector<Source>& sources) {
  std::string code;
  for (const Source& source : sources) {
    if (is_model(source) && source.path.ends_with(".cpp")) code += code_of(source.text);
  }
  return code;
}

std::vector<std::string> enumerators_of(const std::string& body) {
  std::vector<std::string> names;
  static const Pattern name(R"((\w+)\s*(=[^,]*)?(,|$))");
  for (const Match& match : name.find_all(body)) names.push_back(match.groups[1]);
  return names;
}

// "Type::name" of every `case Type::name:`.
std::set<std::string> cases_in(const std::string& code) {
  std::set<std::string> cases;
  static const Pattern label(R"(\bcase\s+(\w+::\w+)\s*:)");
  for (const Match& match : label.find_all(code)) cases.insert(match.groups[1]);
  return cases;
}

}  // namespace

Findings undescribed_enumerators(const std::vector<Source>& sources) {
  Findings findings;
  const std::set<std::string> said = cases_in(code_of_model(sources));
  static const Pattern declared(R"(\benum\s+class\s+(\w+)[^{;]*\{([^}]*)\})");
  static const Pattern fallback(R"(\bdefault\s*:)");
  for (const Source& source : sources) {
    if (!is_model(source)) continue;
    const std::string code = code_of(source.text);
    for (const Match& match : declared.find_all(code)) {
      for (const std::string& name : enumerators_of(match.groups[2])) {
        const std::string full = match.groups[1] + "::" + name;
        if (said.contains(full)) continue;
        findings.push_back({source.path, line_at(code, match.position), full + " has no words"});
      }
    }
    for (const Match& match : fallback.find_all(code)) {
      findings.push_back({source.path, line_at(code, match.position),
                          "a switch with default: hides an enumerator without words"});
    }
  }
  return findings;
}

}  // namespace keel::tidy
