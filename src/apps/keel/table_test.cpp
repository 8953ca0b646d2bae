#include "apps/keel/table.h"

#include <gtest/gtest.h>

namespace keel::cli {
namespace {

TEST(Table, columns_are_as_wide_as_their_widest_cell) {
  Table table({"JOB", "STATE"});
  table.add({"1", "running"});
  table.add({"12345", "-"});
  EXPECT_EQ(table.print(), "JOB    STATE\n1      running\n12345  -\n");
  EXPECT_EQ(table.print("  "), "  JOB    STATE\n  1      running\n  12345  -\n");
}

TEST(Table, nothing_in_a_cell_steers_the_terminal) {
  Table table({"NAME"});
  table.add({"a\x1b[31m\nb"});
  EXPECT_EQ(table.print(), "NAME\na\\x1b[31m\\nb\n");
}

TEST(Table, characters_of_other_scripts_keep_the_columns_straight) {
  Table table({"NAME", "X"});
  table.add({"漢字", "1"});
  table.add({"äöü", "2"});
  EXPECT_EQ(table.print(), "NAME  X\n漢字  1\näöü   2\n");
  EXPECT_EQ(width_of("e\u0301"), 1u);
}

}  // namespace
}  // namespace keel::cli
