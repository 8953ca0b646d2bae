#include "adapters/inbox/inbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace keel {
namespace {

class SteadyClock final : public Clock {
 public:
  Instant now() override {
    auto since = std::chrono::steady_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
  }
};

struct World {
  SteadyClock clock;
  Timer timer;
  Feed feed{timer};
  Inbox inbox{clock, feed};

  Result<Ticket, AskError> cancel(
      JobId job, std::function<void(AnswerKind)> answered = [](auto) {}) {
    return inbox.ask([&](Ticket ticket) { return CancelInput{ticket, job}; }, std::move(answered));
  }
  std::vector<Input> take_now(std::size_t max = 100) { return inbox.take(max, clock.now()); }
  bool report(std::uint64_t session, std::uint64_t number, bool full) {
    return inbox.post(AgentReported{NodeId{"n"}, SessionNo{session},
                                    Report{ReportNo{number}, full, std::nullopt, {}}});
  }
};

std::vector<std::uint64_t> report_numbers(const std::vector<Input>& inputs) {
  std::vector<std::uint64_t> numbers;
  for (const Input& input : inputs) {
    auto* reported = std::get_if<AgentReported>(&input);
    numbers.push_back(reported ? reported->report.number.value : 0);
  }
  return numbers;
}

TEST(Inbox, an_answer_reaches_the_caller_of_its_ticket) {
  World world;
  std::vector<JobId> answered;
  auto note = [&](AnswerKind kind) { answered.push_back(std::get<CancelAnswer>(kind).job); };
  ASSERT_TRUE(world.cancel(JobId{1}, note));
  ASSERT_TRUE(world.cancel(JobId{2}, note));
  auto inputs = world.take_now();
  ASSERT_EQ(inputs.size(), 2u);
  auto& second = std::get<CancelInput>(inputs[1]);
  world.inbox.answer({second.ticket, CancelAnswer{second.job, JobState::canceled}});
  EXPECT_EQ(answered, std::vector{JobId{2}});
  world.inbox.answer({second.ticket, CancelAnswer{second.job, JobState::canceled}});
  EXPECT_EQ(answered.size(), 1u) << "answered twice";
}

TEST(Inbox, clients_are_refused_when_too_many_wait_and_agents_are_not) {
  World world;
  for (std::size_t i = 0; i < Inbox::requests_max; ++i) ASSERT_TRUE(world.cancel(JobId{1}));
  auto refused = world.cancel(JobId{1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), AskError::busy);
  EXPECT_TRUE(world.report(1, 1, true));
  EXPECT_EQ(world.take_now(1).size(), 1u);
  EXPECT_TRUE(world.cancel(JobId{1})) << "a place became free";
  EXPECT_FALSE(world.cancel(JobId{1}));
}

TEST(Inbox, a_queued_heartbeat_is_replaced_by_the_next_of_its_session) {
  World world;
  world.report(1, 1, true);
  world.report(1, 2, false);
  world.report(2, 7, false);
  world.report(1, 3, false);
  EXPECT_EQ(report_numbers(world.take_now()), (std::vector<std::uint64_t>{1, 3, 7}));
  world.report(1, 4, false);
  EXPECT_EQ(report_numbers(world.take_now()), std::vector<std::uint64_t>{4})
      << "taken ones are gone";
}

TEST(Inbox, a_heartbeat_never_replaces_a_full_report) {
  World world;
  world.report(1, 1, true);
  world.report(1, 2, false);
  EXPECT_EQ(report_numbers(world.take_now()), (std::vector<std::uint64_t>{1, 2}));
}

TEST(Inbox, one_agent_cannot_fill_the_queue_with_full_reports) {
  World world;
  for (std::uint64_t n = 1; n <= 1000; ++n) world.report(1, n, n % 2 == 1);
  auto numbers = report_numbers(world.take_now());
  EXPECT_LE(numbers.size(), 3u);
  EXPECT_EQ(numbers.back(), 1000u);
  EXPECT_EQ(numbers[numbers.size() - 2], 999u);
}

TEST(Inbox, connections_stay_in_order_with_the_reports_between_them) {
  World world;
  NodeId node{"n"};
  world.inbox.post(AgentConnected{node, SessionNo{1}, {node, "", "", {}, {}, {}, {}}});
  world.report(1, 1, true);
  world.inbox.post(AgentGone{node, SessionNo{1}});
  world.inbox.post(AgentConnected{node, SessionNo{2}, {node, "", "", {}, {}, {}, {}}});
  world.report(2, 1, true);
  auto inputs = world.take_now();
  ASSERT_EQ(inputs.size(), 5u);
  EXPECT_TRUE(std::holds_alternative<AgentConnected>(inputs[0]));
  EXPECT_TRUE(std::holds_alternative<AgentReported>(inputs[1]));
  EXPECT_TRUE(std::holds_alternative<AgentGone>(inputs[2]));
  EXPECT_TRUE(std::holds_alternative<AgentConnected>(inputs[3]));
}

TEST(Inbox, take_waits_for_an_input_and_not_longer_than_told) {
  World world;
  Instant began = world.clock.now();
  EXPECT_TRUE(world.inbox.take(1, began + milliseconds(50)).empty());
  EXPECT_GE(world.clock.now() - began, milliseconds(50));

  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    world.report(1, 1, true);
  });
  EXPECT_EQ(world.inbox.take(1, never).size(), 1u);
  late.join();
}

TEST(Inbox, wake_and_close_end_a_wait) {
  World world;
  auto waiting = std::async(std::launch::async, [&] { return world.inbox.take(1, never).size(); });
  world.inbox.wake();
  EXPECT_EQ(waiting.get(), 0u);
  waiting = std::async(std::launch::async, [&] { return world.inbox.take(1, never).size(); });
  world.inbox.close();
  EXPECT_EQ(waiting.get(), 0u);
}

TEST(Inbox, closing_answers_everyone_and_lets_nobody_in) {
  World world;
  int not_stored = 0;
  auto note = [&](AnswerKind kind) { not_stored += std::holds_alternative<NotStored>(kind); };
  ASSERT_TRUE(world.cancel(JobId{1}, note));
  world.take_now();  // taken, not yet answered
  ASSERT_TRUE(world.cancel(JobId{2}, note));
  world.inbox.close();
  EXPECT_EQ(not_stored, 2);
  auto refused = world.cancel(JobId{3}, note);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), AskError::closed);
  EXPECT_FALSE(world.report(1, 1, true));
}

TEST(Inbox, who_has_waited_long_enough_is_given_up_and_the_question_stays) {
  World world;
  std::vector<std::string> said;
  auto note = [&](const AnswerKind& kind) { said.push_back(std::get<NotStored>(kind).detail); };
  ASSERT_TRUE(world.cancel(JobId{1}, note));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ASSERT_TRUE(world.cancel(JobId{2}, note));
  world.inbox.give_up(milliseconds(30), "full");
  EXPECT_EQ(said, std::vector<std::string>{"full"});
  auto inputs = world.take_now();
  ASSERT_EQ(inputs.size(), 2u) << "both may still be done";
  world.inbox.answer({std::get<CancelInput>(inputs[0]).ticket, NoSuchJob{JobId{1}}});
  EXPECT_EQ(said.size(), 1u) << "nobody is answered twice";
}

TEST(Inbox, an_answer_may_ask_again) {  // so it runs outside the lock
  World world;
  bool asked = false;
  ASSERT_TRUE(
      world.cancel(JobId{1}, [&](AnswerKind) { asked = world.cancel(JobId{2}).has_value(); }));
  auto inputs = world.take_now();
  world.inbox.answer({std::get<CancelInput>(inputs[0]).ticket, NoSuchJob{JobId{1}}});
  EXPECT_TRUE(asked);
}

}  // namespace
}  // namespace keel
