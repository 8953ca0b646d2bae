#include <array>
#include <string>

#include "pattern.h"
#include "rules.h"

namespace keel::tidy {
namespace {

struct Ban {
  std::string pattern;
  std::string why;
};

const std::string variable = "a variable that outlives the call";

const std::vector<Ban>& bans() {
  static const std::vector<Ban> list{
      {R"(\w*_clock\s*::\s*now)", "a clock: time is an argument"},
      {R"(\b(clock_gettime|gettimeofday|time)\s*\(\s*(NULL|nullptr|0|CLOCK_\w+|&))",
       "a clock: time is an argument"},
      {R"(#\s*include\s*<(thread|mutex|shared_mutex|atomic|condition_variable|future)>)",
       "threads do not reach the pure layers"},
      {R"(#\s*include\s*<random>)", "chance is an argument"},
      {R"(\b(rand|srand|drand48|getrandom|arc4random)\s*\()", "chance is an argument"},
      {R"(\brandom_device\b)", "chance is an argument"},
      {R"(#\s*include\s*<(fstream|filesystem|iostream)>)", "pure layers read and write nothing"},
      {R"(#\s*include\s*<(unistd\.h|fcntl\.h|sys/[^>]*|netinet/[^>]*|arpa/[^>]*)>)",
       "pure layers do not ask the operating system"},
      {R"(\b(getenv|secure_getenv|setenv)\s*\()", "the environment is an argument"},
      {R"(\bstd\s*::\s*hash\b)", "the order of hashes is nobody's choice"},
      {R"(\bunordered_\w+)", "the order of unordered containers is nobody's choice"},
      {R"(\bspdlog\b)", "pure layers log nothing"},
      {R"(\b(printf|fprintf|puts|putchar|fputs|fwrite)\s*\()", "pure layers print nothing"},
      {R"(\bstd\s*::\s*(cout|cerr|clog)\b)", "pure layers print nothing"},
      {R"(^\s*(static|thread_local|inline) [[:alnum:]_:<>,* ]+ \w+ *(=|;|\{))", variable},
  };
  return list;
}

// `check` has to tell somebody before it aborts.
bool is_excepted(const Source& source, const Ban& ban) {
  return source.path == "src/base/check.cpp" && ban.why == "pure layers print nothing";
}

bool is_pure(const std::string& path) {
  constexpr std::array layers{"base", "model", "share", "timeline", "core", "wire"};
  for (const std::string layer : layers) {
    if (path.starts_with("src/" + layer + "/")) return true;
  }
  return false;
}

}  // namespace

Findings impure_code(const Source& source) {
  Findings findings;
  if (!is_cpp(source) || !is_pure(source.path) || is_test(source)) return findings;
  const std::string code = code_of(source.text);
  static const Pattern constant(R"(\b(const|constexpr)\b)");
  const std::vector<std::string_view> lines = lines_of(code);
  for (const Ban& ban : bans()) {
    if (is_excepted(source, ban)) continue;
    for (const int line : Pattern(ban.pattern).lines_in(code)) {
      const bool changes = !constant.is_in(lines[static_cast<std::size_t>(line - 1)]);
      if (ban.why != variable || changes) findings.push_back({source.path, line, ban.why});
    }
  }
  return findings;
}

Findings floating_numbers(const Source& source) {
  // Files of pure layers in which a floating-point number is clearly the better choice.
  static const std::vector<std::string> listed{};
  Findings findings;
  if (!is_cpp(source) || !is_pure(source.path) || is_test(source)) return findings;
  for (const std::string& path : listed) {
    if (path == source.path) return findings;
  }
  static const Pattern pattern(R"(\b(double|float)\b)");
  for (const int line : pattern.lines_in(code_of(source.text))) {
    findings.push_back({source.path, line, "a floating-point number in a pure layer"});
  }
  return findings;
}

}  // namespace keel::tidy
