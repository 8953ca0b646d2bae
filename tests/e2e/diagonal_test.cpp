// One cell of each step of the kill matrix, other victims with each step. All of it is in
// kill_matrix_test.cpp, which is slow.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/kill_matrix.h"

namespace keel::e2e {
namespace {

TEST(KillMatrix, one_cell_of_each_step_ends_as_the_table_says) {
  std::vector<Cell> diagonal;
  const std::vector<Cell> matrix = kill_matrix();
  std::size_t turn = 0;
  for (const std::string& step : kill_steps()) {
    std::vector<Cell> cells;
    std::ranges::copy_if(matrix, std::back_inserter(cells), [&](const Cell& cell) {
      return cell.step == step && cell.expected != "-";
    });
    ASSERT_FALSE(cells.empty()) << step;
    diagonal.push_back(cells[turn++ % cells.size()]);
  }
  do_cells(diagonal);
}

}  // namespace
}  // namespace keel::e2e
