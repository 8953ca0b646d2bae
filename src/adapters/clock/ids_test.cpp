#include "adapters/clock/ids.h"

#include <gtest/gtest.h>

#include <set>

namespace keel {
namespace {

constexpr Instant january_2025{1'735'689'600'000'000};

TEST(RandomIds, upper_bits_are_the_milliseconds_since_2020) {
  RandomIds ids;
  EXPECT_EQ(ids.next_job(january_2025).value >> 22, std::uint64_t{157'852'800'000});
}

TEST(RandomIds, later_milliseconds_give_larger_ids) {
  RandomIds ids;
  const JobId earlier = ids.next_job(january_2025);
  EXPECT_LT(earlier, ids.next_job(january_2025 + milliseconds(1)));
}

TEST(RandomIds, one_millisecond_gives_distinct_ids_in_ascending_order) {
  RandomIds ids;
  JobId last{};
  for (int i = 0; i < 10'000; ++i) {
    const JobId next = ids.next_job(january_2025);
    ASSERT_GT(next, last);
    last = next;
  }
  // 10,000 at once spill into following milliseconds, and stay in front of later ids.
  EXPECT_GT(ids.next_job(january_2025 + seconds(1)), last);
}

TEST(RandomIds, a_clock_that_went_back_makes_no_older_id) {
  RandomIds ids;
  const JobId first = ids.next_job(january_2025);
  EXPECT_GT(ids.next_job(january_2025 - hours(1)), first);
}

TEST(RandomIds, two_processes_do_not_give_the_same_id) {
  std::set<JobId> seen;
  for (int process = 0; process < 20; ++process) {
    RandomIds ids;
    seen.insert(ids.next_job(january_2025));
  }
  // Twenty draws of 22 bits: a pair would meet once in 22,000 runs, three never.
  EXPECT_GE(seen.size(), std::size_t{19});
}

TEST(RandomIds, is_never_zero_even_before_2020) {
  RandomIds ids;
  EXPECT_GT(ids.next_job(Instant{0}), JobId{0});
}

}  // namespace
}  // namespace keel
