#include <algorithm>
#include <map>

#include "functions.h"
#include "rules.h"

namespace keel::tidy {
namespace {

constexpr int columns_max = 100;
constexpr int file_lines_max = 400;
constexpr int test_lines_max = 600;
constexpr int function_lines_max = 60;

// Characters, not bytes: UTF-8's continuation bytes take no column.
int columns_of(std::string_view line) {
  return static_cast<int>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_code(const Source& source) {
  return is_cpp(source) || is_script(source) || source.path.ends_with(".proto") ||
         source.path.ends_with(".py");
}

// Compares what is measured with the limit, or with the exception that names it.
class Limit {
 public:
  explicit Limit(const std::vector<Exception>& exceptions) {
    for (const Exception& exception : exceptions) exceptions_[exception.what] = exception.lines_max;
  }

  void measure(const Source& source, int line, const std::string& what, int lines, int lines_max) {
    const auto excepted = exceptions_.find(what);
    if (excepted != exceptions_.end()) {
      const int allowed = excepted->second;
      exceptions_.erase(excepted);
      if (lines <= lines_max) {
        say(source, line, what + " is within the limit again: remove its exception");
      } else if (lines < allowed) {
        say(source, line, what + " has " + std::to_string(lines) + " lines: lower its exception");
      } else if (lines > allowed) {
        say(source, line, what + " has grown to " + std::to_string(lines) + " lines");
      }
    } else if (lines > lines_max) {
      say(source, line,
          what + " has " + std::to_string(lines) + " lines; " + std::to_string(lines_max) +
              " are the limit");
    }
  }

  // What was found, and exceptions that except nothing.
  Findings findings() && {
    for (const auto& [what, lines] : exceptions_) {
      findings_.push_back({what, 0, "is an exception, and does not exist"});
    }
    return std::move(findings_);
  }

 private:
  void say(const Source& source, int line, const std::string& what) {
    findings_.push_back({source.path, line, what});
  }

  std::map<std::string, int> exceptions_;
  Findings findings_;
};

}  // namespace

Findings long_lines(const Source& source) {
  Findings findings;
  if (!is_code(source)) return findings;
  int number = 0;
  for (const std::string_view line : lines_of(source.text)) {
    ++number;
    const int columns = columns_of(line);
    if (columns > columns_max) {
      findings.push_back({source.path, number, std::to_string(columns) + " columns"});
    }
  }
  return findings;
}

Findings stray_blanks(const Source& source) {
  Findings findings;
  if (source.path == "LICENSE") return findings;  // is quoted as it is
  int number = 0;
  for (const std::string_view line : lines_of(source.text)) {
    ++number;
    if (line.find('\t') != std::string_view::npos) {
      findings.push_back({source.path, number, "a tab"});
    }
    if (line.ends_with(' ') || line.ends_with('\r')) {
      findings.push_back({source.path, number, "blanks at the end of the line"});
    }
  }
  if (!source.text.empty() && !source.text.ends_with('\n')) {
    findings.push_back({source.path, number, "no newline at the end of the file"});
  }
  return findings;
}

Findings headers_without_pragma_once(const Source& source) {
  if (!source.path.ends_with(".h")) return {};
  for (const std::string_view line : lines_of(source.text)) {
    if (line == "#pragma once") return {};
  }
  return {{source.path, 0, "no #pragma once"}};
}

Findings long_files(const std::vector<Source>& sources, const std::vector<Exception>& exceptions) {
  Limit limit(exceptions);
  for (const Source& source : sources) {
    if (!is_code(source)) continue;
    const int lines = static_cast<int>(lines_of(source.text).size());
    limit.measure(source, 0, source.path, lines, is_test(source) ? test_lines_max : file_lines_max);
  }
  return std::move(limit).findings();
}

Findings long_functions(const std::vector<Source>& sources,
                        const std::vector<Exception>& exceptions) {
  Limit limit(exceptions);
  for (const Source& source : sources) {
    if (!is_cpp(source)) continue;
    const std::string code = code_of(source.text);
    for (const Function& function : functions_of(code)) {
      limit.measure(source, function.first, source.path + " " + function.name,
                    function.last - function.first + 1, function_lines_max);
    }
  }
  return std::move(limit).findings();
}

}  // namespace keel::tidy
