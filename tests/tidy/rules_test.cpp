// Shows each rule a small bad sample, and the nearest good one.
#include "rules.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "functions.h"

namespace keel::tidy {
namespace {

using Rule = Findings (*)(const Source&);

// Each row: what it shows, the rule, path and text of the sample, the line found (0: the file, -1:
// none).
struct Sample {
  std::string name;
  Rule rule{};
  std::string path;
  std::string text;
  int line{};
};

void expect_found(const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const Findings findings = sample.rule({sample.path, sample.text});
    if (sample.line < 0) {
      EXPECT_TRUE(findings.empty()) << print(findings.front());
    } else if (findings.size() != 1) {
      ADD_FAILURE() << findings.size() << " findings";
    } else {
      EXPECT_EQ(findings.front().line, sample.line);
    }
  }
}

std::string includes(const std::string& path) {
  return "#pragma once\n#include \"" + path + "\"\n";
}

TEST(UpwardIncludes, point_from_a_lower_to_a_higher_layer) {
  const Rule rule = upward_includes;
  expect_found({
      {"model includes core", rule, "src/model/job.h", includes("core/place.h"), 2},
      {"core includes ports", rule, "src/core/place.cpp", includes("ports/store.h"), 2},
      {"wire includes ports", rule, "src/wire/spec.cpp", includes("ports/store.h"), 2},
      {"agent includes core", rule, "src/agent/core.cpp", includes("core/place.h"), 2},
      {"adapters include control", rule, "src/adapters/grpc/a.cpp", includes("control/turn.h"), 2},
      {"control includes wire", rule, "src/control/turn.cpp", includes("wire/spec.h"), 2},
      {"core includes messages", rule, "src/core/place.cpp", includes("keel/v1/job.pb.h"), 2},
      {"one adapter another", rule, "src/adapters/http/a.cpp", includes("adapters/sqlite/b.h"), 2},
      {"a folder of no layer", rule, "src/plugins/a.cpp", includes("base/check.h"), 2},
      {"a path from its own folder", rule, "src/core/place.cpp", includes("state.h"), 2},
      {"code includes tests", rule, "src/core/place.cpp", includes("tests/contract/a.h"), 2},
      {"a test may", rule, "src/core/place_test.cpp", includes("tests/contract/a.h"), -1},
      {"control includes core", rule, "src/control/turn.cpp", includes("core/place.h"), -1},
      {"wire includes messages", rule, "src/wire/spec.cpp", includes("keel/v1/job.pb.h"), -1},
      {"an adapter itself", rule, "src/adapters/http/a.cpp", includes("adapters/http/b.h"), -1},
      {"apps include anything", rule, "src/apps/keeld.cpp", includes("adapters/grpc/a.h"), -1},
      {"a comment", rule, "src/model/job.h", "// #include \"core/place.h\"\n", -1},
  });
}

TEST(HeavyIncludes, stay_in_adapters) {
  const Rule rule = heavy_includes;
  expect_found({
      {"gRPC", rule, "src/apps/keeld.cpp", "#include <grpcpp/grpcpp.h>\n", 1},
      {"Beast", rule, "src/control/turn.cpp", "\n#include <boost/beast/http.hpp>\n", 2},
      {"services", rule, "src/wire/a.cpp", includes("keel/v1/api.grpc.pb.h"), 2},
      {"in its place", rule, "src/adapters/grpc/a.cpp", "#include <grpcpp/grpcpp.h>\n", -1},
  });
}

TEST(ImpureCode, meets_a_world_that_a_pure_layer_must_not_know) {
  const std::array bad{"auto now = std::chrono::steady_clock::now();",
                       "#include <thread>",
                       "#include <mutex>",
                       "#include <atomic>",
                       "#include <random>",
                       "#include <fstream>",
                       "#include <iostream>",
                       "#include <filesystem>",
                       "#include <unistd.h>",
                       "const char* home = getenv(\"HOME\");",
                       "int die = rand();",
                       "std::hash<int> hash;",
                       "std::unordered_map<int, int> jobs;",
                       "spdlog::info(\"placed\");",
                       "std::printf(\"placed\");",
                       "std::cout << 1;",
                       "static int calls = 0;",
                       "auto now = time(nullptr);"};
  for (const std::string line : bad) {
    for (const std::string layer : {"base", "model", "share", "timeline", "core", "wire"}) {
      SCOPED_TRACE(layer + ": " + line);
      const Findings findings = impure_code({"src/" + layer + "/a.cpp", "\n" + line + "\n"});
      ASSERT_EQ(findings.size(), 1u);
      EXPECT_EQ(findings.front().line, 2);
    }
    EXPECT_TRUE(impure_code({"src/adapters/a.cpp", line}).empty()) << line;
    EXPECT_TRUE(impure_code({"src/core/a.cpp", "// " + line}).empty()) << line;
    EXPECT_TRUE(impure_code({"src/core/a_test.cpp", line}).empty()) << line;
  }
}

TEST(ImpureCode, has_one_exception) {
  const std::string text = "std::fprintf(stderr, \"x\");\n";
  EXPECT_TRUE(impure_code({"src/base/check.cpp", text}).empty());
  EXPECT_FALSE(impure_code({"src/base/other.cpp", text}).empty());
  EXPECT_FALSE(impure_code({"src/base/check.cpp", "int die = rand();"}).empty());
}

TEST(FloatingNumbers, are_found_in_pure_layers_only) {
  const Rule rule = floating_numbers;
  expect_found({
      {"double", rule, "src/core/a.cpp", "double share = 0;\n", 1},
      {"float", rule, "src/model/a.h", "\nfloat share{};\n", 2},
      {"a word of a comment", rule, "src/core/a.cpp", "// double the share\n", -1},
      {"another layer", rule, "src/apps/a.cpp", "double share = 0;\n", -1},
  });
}

TEST(LongLines, count_columns_and_not_bytes) {
  const std::string hundred(100, 'x');
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  expect_found({
      {"101", long_lines, "src/a.cpp", "\n" + hundred + "x\n", 2},
      {"a script", long_lines, "check", "#!/bin/bash\n" + hundred + "x\n", 2},
      {"100", long_lines, "src/a.cpp", hundred + "\n", -1},
      {"100 of two bytes", long_lines, "src/a.cpp", umlauts + "\n", -1},
      {"a table in a document", long_lines, "docs/a.md", hundred + hundred + "\n", -1},
  });
}

TEST(StrayBlanks, are_tabs_and_blanks_at_ends) {
  expect_found({
      {"tab", stray_blanks, "a.md", "a\n\tb\n", 2},
      {"blank", stray_blanks, "a.md", "a \nb\n", 1},
      {"carriage return", stray_blanks, "a.md", "a\r\n", 1},
      {"no newline", stray_blanks, "a.md", "a", 1},
      {"clean", stray_blanks, "a.md", "a\n\nb\n", -1},
      {"quoted", stray_blanks, "LICENSE", "a \n", -1},
  });
}

TEST(Headers, have_pragma_once) {
  const Rule rule = headers_without_pragma_once;
  expect_found({
      {"none", rule, "src/a.h", "int f();\n", 0},
      {"in a comment", rule, "src/a.h", "// #pragma once\n", 0},
      {"there", rule, "src/a.h", "#pragma once\n", -1},
      {"no header", rule, "src/a.cpp", "int f();\n", -1},
  });
}

std::string repeated(const std::string& line, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

TEST(LongFiles, have_limits_and_exceptions_that_may_only_fall) {
  const auto found = [](const std::string& path, int lines, const std::vector<Exception>& except) {
    return long_files({{path, repeated("int x;\n", lines)}}, except).size();
  };
  EXPECT_EQ(found("src/a.cpp", 400, {}), 0u);
  EXPECT_EQ(found("src/a.cpp", 401, {}), 1u);
  EXPECT_EQ(found("src/a_test.cpp", 600, {}), 0u);
  EXPECT_EQ(found("src/a_test.cpp", 601, {}), 1u);
  EXPECT_EQ(found("src/a.cpp", 450, {{"src/a.cpp", 450}}), 0u);
  EXPECT_EQ(found("src/a.cpp", 451, {{"src/a.cpp", 450}}), 1u) << "it has grown";
  EXPECT_EQ(found("src/a.cpp", 449, {{"src/a.cpp", 450}}), 1u) << "the number may fall";
  EXPECT_EQ(found("src/a.cpp", 400, {{"src/a.cpp", 450}}), 1u) << "no exception is needed";
  EXPECT_EQ(found("src/a.cpp", 10, {{"src/b.cpp", 450}}), 1u) << "there is no such file";
}

TEST(LongFunctions, have_a_limit_too) {
  const auto found = [](const std::string& text, const std::vector<Exception>& except) {
    return long_functions({{"src/a.cpp", text}}, except).size();
  };
  const auto function = [](int lines) {
    return "namespace keel {\n\nvoid place(int a,\n    int b) {\n" +
           repeated("  x();\n", lines - 3) + "}\n\n}  // namespace keel\n";
  };
  EXPECT_EQ(found(function(60), {}), 0u);
  EXPECT_EQ(found(function(61), {}), 1u);
  EXPECT_EQ(found(function(61), {{"src/a.cpp place", 61}}), 0u);
  EXPECT_EQ(found(function(61), {{"src/a.cpp place", 62}}), 1u);
  const std::string member = "class A {\n void place() {\n" + repeated("  x();\n", 60) + " }\n};\n";
  EXPECT_EQ(found(member, {}), 1u);
  const std::string table = "const Row rows[] = {\n" + repeated("  {1},\n", 90) + "};\n";
  EXPECT_EQ(found(table, {}), 0u);
}

TEST(Functions, are_found_with_their_lines) {
  const std::string code = code_of(
      "#define M(x) { x\n"
      "namespace {\n"
      "struct A {\n"
      "  A() : a_{1}, b_(2) {}\n"
      "  bool holds() const { return a_ > 1 && '{' != '\"'; }\n"
      "  int a_{};\n"
      "};\n"
      "}\n"
      "template <class T>\n"
      "T twice(T x) {\n"
      "  const auto l = [&] { return x; };\n"
      "  return l() + x;  // }\n"
      "}\n"
      "TEST(Place, a_gang_fits) { EXPECT_TRUE(true); }\n");
  std::vector<std::string> seen;
  for (const Function& function : functions_of(code)) {
    seen.push_back(function.name + " " + std::to_string(function.first) + "-" +
                   std::to_string(function.last));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"A 4-4", "holds 5-5", "twice 9-13",
                                            "Place.a_gang_fits 14-14"}));
}

TEST(Code, is_told_from_comments_and_literals) {
  EXPECT_EQ(code_of("a /* b */ c // d\ne"), "a         c     \ne");
  EXPECT_EQ(code_of("f(\"b\\\"c\", 'd', 1'000)"), "f(\"    \", ' ', 1'000)");
  EXPECT_EQ(code_of("R\"(a\" // b)\" c"), "R\"(       )\" c");
}

TEST(LeftoverMarkers, are_found_in_every_text) {
  expect_found({
      {"to do", leftover_markers, "src/a.cpp",
       "\n// TO"
       "DO: later\n",
       2},
      {"fix me", leftover_markers, "check",
       "# FIX"
       "ME\n",
       1},
      {"x", leftover_markers, "docs/a.md",
       "X"
       "XX\n",
       1},
      {"hack", leftover_markers, "src/a.h",
       "// HA"
       "CK\n",
       1},
      {"mktemp", leftover_markers, "check", "mktemp /tmp/a.XXXXXX\n", -1},
  });
}

TEST(DevelopersPaths, are_found_in_every_text) {
  expect_found({
      {"work", developers_paths, "docs/a.md",
       "see /wo"
       "rk/main/docs\n",
       1},
      {"home", developers_paths, "check",
       "cd \"/ho"
       "me/ana/keel\"\n",
       1},
      {"within a path", developers_paths, "check",
       "ls $root/wo"
       "rk/x ${a}/ho"
       "me/$user\n",
       -1},
  });
}

TEST(EmptyWords, are_found_in_names_of_files_folders_and_types) {
  const Rule rule = empty_words_in_names;
  expect_found({
      {"file", rule, "src/core/job_manager.h", "", 0},
      {"folder", rule, "src/util/clock.h", "", 0},
      {"type", rule, "src/core/a.h", "\nclass JobManager {\n};\n", 2},
      {"struct", rule, "src/core/a.h", "struct NodeInfo {};\n", 1},
      {"more than one process", rule, "src/adapters/processes/a.h", "struct Process1 {};\n", -1},
      {"a data set", rule, "examples/digits/data/digits.txt", "", -1},
      {"part of a word", rule, "src/core/domain.h", "struct Dataset {};\n", -1},
  });
}

TEST(Documents, have_one_title) {
  const Rule rule = documents_without_one_title;
  expect_found({
      {"none", rule, "docs/a.md", "text\n## part\n", 0},
      {"two", rule, "docs/a.md", "# one\n# two\n", 0},
      {"one", rule, "docs/a.md", "# one\n\n```\n# a comment\n```\n## part\n", -1},
      {"no document", rule, "check", "# one\n# two\n", -1},
  });
}

TEST(Enumerators, of_the_model_have_words) {
  const Source header{"src/model/a.h",
                      "enum class Cause : std::uint8_t {\n  none,  // nobody\n  user,\n};\n"};
  const Source words{"src/model/a.cpp",
                     "switch (cause) {\n  case Cause::none: return \"\";\n"
                     "  case Cause::user: return \"user\";\n}\n"};
  EXPECT_TRUE(undescribed_enumerators({header, words}).empty());
  EXPECT_EQ(undescribed_enumerators({header}).size(), 2u);
  Source fewer = words;
  fewer.text.replace(fewer.text.find("Cause::user"), 11, "Cause::same");
  EXPECT_EQ(undescribed_enumerators({header, fewer}).size(), 1u);
  Source fallback = words;
  fallback.text += "switch (x) {\n  default: return 1;\n}\n";
  ASSERT_EQ(undescribed_enumerators({header, fallback}).size(), 1u);
  EXPECT_EQ(undescribed_enumerators({header, fallback}).front().line, 6);
}

TEST(TestsThatCheckNothing, are_found) {
  const auto found = [](const std::string& text) {
    return tests_that_check_nothing({{"src/a_test.cpp", text}}).size();
  };
  EXPECT_EQ(found("TEST(A, b) { EXPECT_TRUE(x); }\n"), 0u);
  EXPECT_EQ(found("TEST(A, b) { f(); }\n"), 1u);
  EXPECT_EQ(found("void f() { ASSERT_EQ(1, 1); }\nTEST(A, b) { f(); }\n"), 0u);
  EXPECT_EQ(found("void g() { FAIL(); }\nvoid f() { g(); }\nTEST_F(A, b) { f(); }\n"), 0u);
  EXPECT_EQ(found("TEST(A, b) { /* EXPECT_TRUE(x) */ }\n"), 1u);
  EXPECT_EQ(found("void f() { EXPECT_TRUE(x); }\n"), 1u) << "a test file without a test";
  EXPECT_EQ(found("INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, Values(1));\n"), 0u);
}

TEST(EmptyFolders, are_found) {
  const std::vector<Source> sources{{"src/a/b/x.cpp", ""}, {"src/c/CMakeLists.txt", ""}};
  EXPECT_TRUE(empty_folders({"src/a", "src/a/b"}, sources).empty());
  EXPECT_EQ(empty_folders({"src/a", "src/c", "src/d"}, sources).size(), 2u);
}

// Runs cmake/direction.cmake on one link, as keel_check_direction does at configure time.
bool cmake_allows(const std::string& from, const std::string& to) {
  const std::string line = "cmake -DFROM=" + from + " -DTO=" + to +
                           " -P " SOURCE_DIR "/cmake/direction.cmake >/dev/null 2>&1";
  return std::system(line.c_str()) == 0;
}

TEST(Links, point_downward_or_cmake_refuses_them) {
  EXPECT_TRUE(cmake_allows("core", "model"));
  EXPECT_TRUE(cmake_allows("adapters/grpc", "proto"));
  EXPECT_TRUE(cmake_allows("apps", "adapters/grpc"));
  EXPECT_FALSE(cmake_allows("core", "ports"));
  EXPECT_FALSE(cmake_allows("model", "core"));
  EXPECT_FALSE(cmake_allows("control", "wire"));
  EXPECT_FALSE(cmake_allows("adapters/grpc", "control"));
  EXPECT_FALSE(cmake_allows("adapters/http", "adapters/sqlite"));
  EXPECT_FALSE(cmake_allows("nowhere", "base"));
}

}  // namespace
}  // namespace keel::tidy
