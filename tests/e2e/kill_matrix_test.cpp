// The whole kill matrix, a step a test: slow. One cell of each step is in diagonal_test.cpp.
#include "tests/e2e/kill_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace keel::e2e {
namespace {

class KillMatrix : public testing::TestWithParam<std::string> {};

std::string named(const testing::TestParamInfo<std::string>& step) {
  std::string name;
  for (const char letter : step.param) {
    if (std::isalnum(static_cast<unsigned char>(letter))) name += letter;
    if (letter == ' ') name += '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Steps, KillMatrix, testing::ValuesIn(kill_steps()), named);

TEST_P(KillMatrix, every_cell_of_this_step_ends_as_the_table_says) {
  std::vector<Cell> cells;
  std::ranges::copy_if(kill_matrix(), std::back_inserter(cells),
                       [](const Cell& cell) { return cell.step == GetParam(); });
  ASSERT_FALSE(cells.empty());
  do_cells(cells);
}

}  // namespace
}  // namespace keel::e2e
