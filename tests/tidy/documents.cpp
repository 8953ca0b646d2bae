#include "rules.h"

namespace keel::tidy {

Findings documents_without_one_title(const Source& source) {
  if (!source.path.ends_with(".md")) return {};
  int titles = 0;
  bool quoted = false;  // between ``` and ```
  for (const std::string_view line : lines_of(source.text)) {
    if (line.starts_with("```")) quoted = !quoted;
    if (!quoted && line.starts_with("# ")) ++titles;
  }
  if (titles == 1) return {};
  return {{source.path, 0, std::to_string(titles) + " titles; a document has one"}};
}

Findings empty_folders(const std::vector<std::string>& folders,
                       const std::vector<Source>& sources) {
  Findings findings;
  for (const std::string& folder : folders) {
    bool filled = false;
    for (const Source& source : sources) {
      filled = filled || (source.path.starts_with(folder + "/") && is_cpp(source));
    }
    if (!filled) findings.push_back({folder, 0, "a folder without code"});
  }
  return findings;
}

}  // namespace keel::tidy
