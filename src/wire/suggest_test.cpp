#include "wire/suggest.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

TEST(Suggest, slips_are_counted) {
  EXPECT_EQ(slips_between("", "abc"), 3u);
  EXPECT_EQ(slips_between("tasks", "tasks"), 0u);
  EXPECT_EQ(slips_between("taks", "tasks"), 1u);
  EXPECT_EQ(slips_between("taskss", "tasks"), 1u);
  EXPECT_EQ(slips_between("tasjs", "tasks"), 1u);
  EXPECT_EQ(slips_between("tsaks", "tasks"), 1u);
  EXPECT_EQ(slips_between("kitten", "sitting"), 3u);
}

TEST(Suggest, the_nearest_word_is_suggested_if_it_is_near) {
  const std::vector<std::string> fields{"name", "tasks", "gpus_per_task", "time_limit"};
  EXPECT_EQ(nearest("taks", fields), "tasks");
  EXPECT_EQ(nearest("gpusPerTask", fields), "gpus_per_task");
  EXPECT_EQ(nearest("TIME-LIMIT", fields), "time_limit");
  EXPECT_EQ(nearest("gpus", fields), "gpus_per_task");
  EXPECT_EQ(nearest("colour", fields), "");
  EXPECT_EQ(nearest("x", fields), "");
  EXPECT_EQ(nearest(std::string(10'000, 'a'), fields), "");
}

}  // namespace
}  // namespace keel
