// The rules that the tree is held to. Each takes sources and gives what breaks it, so that each can
// be tried on a bad sample as well (rules_test.cpp).
#pragma once

#include <string>
#include <vector>

#include "source.h"

namespace keel::tidy {

using Findings = std::vector<Finding>;

// layers.cpp: who may include whom.
Findings upward_includes(const Source& source);
Findings heavy_includes(const Source& source);  // gRPC and Beast stay in src/adapters

// bans.cpp: what a layer that only decides must not hold.
Findings impure_code(const Source& source);
Findings floating_numbers(const Source& source);

// shape.cpp
Findings long_lines(const Source& source);
Findings stray_blanks(const Source& source);  // tabs, blanks at a line's end, no newline at the end
Findings headers_without_pragma_once(const Source& source);

// What may be longer than the limit for a while. Its number may only fall.
struct Exception {
  std::string what;  // a path; of a function, "path name"
  int lines_max{};
};
Findings long_files(const std::vector<Source>& sources, const std::vector<Exception>& exceptions);
Findings long_functions(const std::vector<Source>& sources,
                        const std::vector<Exception>& exceptions);

// words.cpp
Findings leftover_markers(const Source& source);
Findings empty_words_in_names(const Source& source);  // of files, folders and types
Findings developers_paths(const Source& source);

// documents.cpp
Findings documents_without_one_title(const Source& source);

// enums.cpp: every enumerator of the model has its words.
Findings undescribed_enumerators(const std::vector<Source>& sources);

// tests.cpp: a test can fail.
Findings tests_that_check_nothing(const std::vector<Source>& sources);

// folders.cpp: no empty folders below src/.
Findings empty_folders(const std::vector<std::string>& folders, const std::vector<Source>& sources);

}  // namespace keel::tidy
