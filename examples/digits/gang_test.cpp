#include "gang.h"

#include <gtest/gtest.h>

#include <thread>

#include "child.h"
#include "failure.h"

namespace keel::digits {
namespace {

using namespace std::chrono_literals;

class GangOf : public testing::Test {
 protected:
  Rendezvous place(std::size_t rank, std::size_t world) const {
    return {.address = "127.0.0.1", .port = port_.number(), .world = world, .rank = rank};
  }

  // Runs `part(gang)` once per rank, each in a thread.
  template <typename Part>
  void run(std::size_t world, Part part) const {
    std::vector<std::thread> ranks;
    for (std::size_t rank = 0; rank < world; ++rank) {
      ranks.emplace_back([this, rank, world, part] {
        Gang gang = Gang::open(place(rank, world), {.run_id = 1});
        part(gang);
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }

  HeldPort port_;
};

TEST(add_to, adds_element_by_element) {
  std::vector<double> sums = {1, 2, 3};
  add_to(sums, std::vector<double>{10, 20, 30});
  EXPECT_EQ(sums, (std::vector<double>{11, 22, 33}));
}

TEST_F(GangOf, one_keeps_its_values) {
  Gang gang = Gang::open({}, {.run_id = 1});
  std::vector<double> values = {1, 2};
  gang.sum(values);
  EXPECT_EQ(values, (std::vector<double>{1, 2}));
}

TEST_F(GangOf, three_each_get_the_sum_of_all) {
  run(3, [](Gang& gang) {
    for (int round = 0; round < 3; ++round) {
      std::vector<double> values = {1, static_cast<double>(gang.rank())};
      gang.sum(values);
      EXPECT_EQ(values, (std::vector<double>{3, 0 + 1 + 2}));
    }
  });
}

TEST_F(GangOf, three_add_in_the_order_of_ranks) {
  // (1e16 + 1) - 1e16 is 0 in doubles, 1e16 - 1e16 + 1 would be 1.
  run(3, [](Gang& gang) {
    const double mine[] = {1e16, 1, -1e16};
    std::vector<double> values = {mine[gang.rank()]};
    gang.sum(values);
    EXPECT_EQ(values[0], 0);
  });
}

TEST_F(GangOf, two_sum_more_than_a_socket_buffers) {
  run(2, [](Gang& gang) {
    std::vector<double> values(2'000'000, 1.0);
    gang.sum(values);
    EXPECT_EQ(values.front() + values.back(), 4);
  });
}

TEST_F(GangOf, three_all_hear_what_rank_0_says) {
  run(3, [](Gang& gang) {
    const Bytes said = gang.broadcast(gang.rank() == 0 ? Bytes(5, std::byte{7}) : Bytes{});
    EXPECT_EQ(said, Bytes(5, std::byte{7}));
    EXPECT_EQ(gang.broadcast({}), Bytes{});
  });
}

TEST_F(GangOf, two_notice_that_they_are_out_of_step) {
  run(2, [](Gang& gang) {
    std::vector<double> values(gang.rank() + 1, 1.0);
    EXPECT_THROW(gang.sum(values), PeerLost);
  });
}

TEST_F(GangOf, two_that_never_meet_give_up) {
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_THROW((void)Gang::open(place(rank, 2), {.run_id = 1, .assembly_timeout = 200ms}),
                 Failure);
  }
}

TEST_F(GangOf, a_task_of_another_run_is_refused_and_does_not_disturb_the_gang) {
  std::thread stranger([this] {
    EXPECT_THROW((void)Gang::open(place(1, 2), {.run_id = 2, .assembly_timeout = 3s}), Failure);
  });
  std::thread centre([this] {
    Gang gang = Gang::open(place(0, 2), {.run_id = 1});
    std::vector<double> values = {1};
    gang.sum(values);
    EXPECT_EQ(values[0], 3);
  });
  stranger.join();
  Gang gang = Gang::open(place(1, 2), {.run_id = 1});
  std::vector<double> values = {2};
  gang.sum(values);
  EXPECT_EQ(values[0], 3);
  centre.join();
}

TEST_F(GangOf, a_caller_that_speaks_another_language_is_ignored) {
  std::thread centre([this] {
    Gang gang = Gang::open(place(0, 2), {.run_id = 1});
    EXPECT_EQ(gang.world(), 2U);
  });
  const Address address{.host = "127.0.0.1", .port = port_.number()};
  const auto soon = std::chrono::steady_clock::now() + 5s;
  std::optional<Socket> stranger;
  while (!stranger && std::chrono::steady_clock::now() < soon) {
    stranger = connect_once(address, soon);
  }
  ASSERT_TRUE(stranger.has_value());
  const Bytes request(64, std::byte{'G'});
  EXPECT_EQ(send_all(*stranger, request, soon), std::nullopt);
  std::byte answer{};
  EXPECT_EQ(receive_all(*stranger, std::span(&answer, 1), soon), Broken::closed);
  (void)Gang::open(place(1, 2), {.run_id = 1});
  centre.join();
}

}  // namespace
}  // namespace keel::digits
