// The functions of a C++ file, found without a compiler: good enough to measure them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::tidy {

struct Function {
  std::string name;  // "Place.a_gang_fits" for TEST(Place, a_gang_fits); "" where there is none
  int first{};       // 1-based lines
  int last{};
  std::string_view body;  // of the text given, braces included
  bool test{};            // TEST, TEST_F, TEST_P, TYPED_TEST
};

// `code` as code_of makes it; the bodies point into it. A function within a function is part of it.
std::vector<Function> functions_of(std::string_view code);

}  // namespace keel::tidy
