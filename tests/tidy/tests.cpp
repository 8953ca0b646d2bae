#include <algorithm>
#include <set>
#include <string>

#include "functions.h"
#include "pattern.h"
#include "rules.h"

namespace keel::tidy {
namespace {

bool checks_itself(const std::string& body) {
  static const Pattern checks(R"(\b(EXPECT_|ASSERT_|ADD_FAILURE|FAIL\s*\())");
  return checks.is_in(body);
}

std::set<std::string> called_in(const std::string& body) {
  std::set<std::string> names;
  static const Pattern call(R"((\w+)\s*(<[^<>;()]*>)?\s*\()");
  for (const Match& match : call.find_all(body)) names.insert(match.groups[1]);
  return names;
}

std::string last_word(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

// A file, and what was read out of it.
struct Read {
  std::string path;
  std::string code;
  std::vector<Function> functions;
  std::vector<std::set<std::string>> calls;  // of each function
};

bool meet(const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::ranges::any_of(some, [&](const std::string& x) { return others.contains(x); });
}

std::vector<Read> read_all(const std::vector<Source>& sources) {
  std::vector<Read> all;
  for (const Source& source : sources) {
    const bool tells_gtest = source.text.find("gtest") != std::string::npos;
    if (!is_cpp(source) || (!is_test(source) && !tells_gtest)) continue;
    Read read{source.path, code_of(source.text), {}, {}};
    read.functions = functions_of(read.code);
    for (Function& function : read.functions) {
      read.calls.push_back(called_in(std::string(function.body)));
      if (checks_itself(std::string(function.body))) read.calls.back().insert("EXPECT_");
    }
    all.push_back(std::move(read));
  }
  return all;
}

// The functions that check something, themselves or by those that they call.
std::set<std::string> checking_functions(const std::vector<Read>& all) {
  std::set<std::string> names{"EXPECT_"};
  for (std::size_t before = 0; before != names.size();) {
    before = names.size();
    for (const Read& read : all) {
      for (std::size_t i = 0; i < read.functions.size(); ++i) {
        const Function& function = read.functions[i];
        if (function.test || function.name.empty()) continue;
        if (meet(read.calls[i], names)) names.insert(last_word(function.name));
      }
    }
  }
  return names;
}

}  // namespace

Findings tests_that_check_nothing(const std::vector<Source>& sources) {
  const std::vector<Read> all = read_all(sources);
  const std::set<std::string> checking = checking_functions(all);
  Findings findings;
  for (const Read& read : all) {
    static const Pattern suite(R"(\bINSTANTIATE_(TYPED_)?TEST_SUITE_P\b)");  // tests of elsewhere
    int tests = suite.is_in(read.code) ? 1 : 0;
    for (std::size_t i = 0; i < read.functions.size(); ++i) {
      const Function& function = read.functions[i];
      if (!function.test) continue;
      ++tests;
      if (meet(read.calls[i], checking)) continue;
      findings.push_back({read.path, function.first, function.name + " checks nothing"});
    }
    if (tests == 0 && read.path.ends_with("_test.cpp")) {
      findings.push_back({read.path, 0, "a test file without a test"});
    }
  }
  return findings;
}

}  // namespace keel::tidy
