#include "adapters/grpc/sessions.h"

#include <gtest/gtest.h>

#include "adapters/front/fakes.h"

namespace keel {
namespace {

class NotedLine final : public AgentLine {
 public:
  void send(pb::ServerMessage message) override { sent.push_back(std::move(message)); }
  void close(const std::string& why) override { closed = why; }
  std::vector<pb::ServerMessage> sent;
  std::string closed;
};

struct World {
  fake::SteadyClock clock;
  Timer timer;
  Feed feed{timer};
  Inbox inbox{clock, feed};
  AgentSessions sessions{inbox, timer};

  std::shared_ptr<NotedLine> line = std::make_shared<NotedLine>();

  NodeInventory inventory(const std::string& name, const std::string& agent = "a") {
    return {NodeId{name}, agent, "boot", "10.0.0.1", {8000}, gibibytes(64), {}, {}};
  }
  SessionNo connect(const std::string& name, std::shared_ptr<NotedLine> on) {
    return sessions.connect(inventory(name), std::move(on), {}).value_or(SessionNo{});
  }
  std::vector<Input> inputs() { return inbox.take(100, clock.now()); }
};

Report report(std::uint64_t number) { return {ReportNo{number}, false, std::nullopt, {}}; }

TEST(AgentSessions, a_second_connection_of_a_node_ends_the_first) {
  World world;
  auto newer = std::make_shared<NotedLine>();
  SessionNo first = world.connect("n", world.line);
  SessionNo second = world.connect("n", newer);
  EXPECT_LT(first, second);
  EXPECT_NE(world.line->closed, "");
  EXPECT_EQ(newer->closed, "");
  EXPECT_FALSE(world.sessions.report(first, report(1))) << "an ended session is not heard";
  EXPECT_TRUE(world.sessions.report(second, report(1)));
  world.sessions.gone(first);  // late news of its stream
  world.sessions.acknowledge(NodeId{"n"}, second, ReportNo{1});
  EXPECT_EQ(newer->sent.size(), 1u) << "the newer one stays";

  auto inputs = world.inputs();
  ASSERT_EQ(inputs.size(), 4u);
  EXPECT_EQ(std::get<AgentConnected>(inputs[0]).session, first);
  EXPECT_EQ(std::get<AgentGone>(inputs[1]).session, first);
  EXPECT_EQ(std::get<AgentConnected>(inputs[2]).session, second);
  EXPECT_EQ(std::get<AgentReported>(inputs[3]).session, second);
}

TEST(AgentSessions, another_agent_is_turned_away_as_long_as_the_first_is_there) {
  World world;
  const SessionNo first = world.connect("n", world.line);
  const auto other = world.sessions.connect(world.inventory("n", "b"), world.line, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), "another agent is connected as node n");
  EXPECT_TRUE(world.sessions.report(first, report(1))) << "nobody is disturbed";
  EXPECT_EQ(world.line->closed, "");
  world.sessions.gone(first);
  EXPECT_TRUE(world.sessions.connect(world.inventory("n", "b"), world.line, {}));
}

TEST(AgentSessions, a_session_that_the_turn_refuses_is_closed_and_says_why) {
  World world;
  const SessionNo session = world.connect("n", world.line);
  world.sessions.refuse(session, "not now");
  EXPECT_EQ(world.line->closed, "not now");
  EXPECT_FALSE(world.sessions.report(session, report(1)));
  world.sessions.refuse(session, "again");  // it may be gone already
}

TEST(AgentSessions, reports_of_another_node_or_out_of_order_end_the_session) {
  World world;
  SessionNo session = world.connect("n", world.line);
  EXPECT_TRUE(world.sessions.report(session, report(1)));
  EXPECT_FALSE(world.sessions.report(session, report(1)));
  Report foreign{ReportNo{2}, true, world.inventory("other"), {}};
  EXPECT_FALSE(world.sessions.report(session, foreign));
}

TEST(AgentSessions, what_is_sent_to_an_ended_session_is_dropped) {
  World world;
  SessionNo session = world.connect("n", world.line);
  world.sessions.gone(session);
  world.sessions.acknowledge(NodeId{"n"}, session, ReportNo{1});
  world.sessions.welcome(NodeId{"n"}, session, {Epoch{1}, {}, {}, {}});
  EXPECT_TRUE(world.line->sent.empty());
}

struct LogWorld : World {
  std::vector<std::string> answers;
  void ask(const std::string& node, Duration wait = {}) {
    sessions.read_log(NodeId{node}, {{JobId{1}, AttemptNo{1}, 0}, 0, 1000, wait}, [this](auto log) {
      if (!log) {
        answers.push_back("failure " + std::to_string(static_cast<int>(log.error())));
      } else {
        answers.push_back(*log ? std::to_string((*log)->next()) : "no log");
      }
    });
  }
};

const std::string not_connected = "failure 0";

TEST(AgentSessions, a_log_answer_reaches_who_asked_and_nobody_else) {
  LogWorld world;
  SessionNo session = world.connect("n", world.line);
  SessionNo other = world.connect("other", std::make_shared<NotedLine>());
  world.ask("n");
  world.ask("n");
  ASSERT_EQ(world.line->sent.size(), 2u);
  pb::LogAnswer answer;
  answer.set_request(world.line->sent[1].read_log().request());
  answer.set_found(true);
  answer.mutable_log()->set_next(77);
  EXPECT_TRUE(world.sessions.log_answer(other, answer));
  EXPECT_TRUE(world.answers.empty()) << "another agent cannot answer for this one";
  EXPECT_TRUE(world.sessions.log_answer(session, answer));
  EXPECT_TRUE(world.sessions.log_answer(session, answer)) << "twice is once";
  EXPECT_EQ(world.answers, std::vector<std::string>{"77"});
}

TEST(AgentSessions, whoever_asks_an_agent_that_is_or_goes_away_is_told) {
  LogWorld world;
  world.ask("n");
  EXPECT_EQ(world.answers, std::vector{not_connected});
  SessionNo session = world.connect("n", world.line);
  world.ask("n");
  EXPECT_EQ(world.answers.size(), 1u);
  world.sessions.gone(session);
  EXPECT_EQ(world.answers, (std::vector{not_connected, not_connected}));
}

TEST(AgentSessions, an_agent_that_does_not_answer_is_given_up) {
  LogWorld world;
  world.connect("n", world.line);
  // As if it had been allowed to wait for less than nothing, so that the test need not wait.
  world.ask("n", Duration{} - AgentSessions::answer_within + milliseconds(20));
  for (int i = 0; i < 500 && world.answers.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  world.timer.stop();
  EXPECT_EQ(world.answers, std::vector<std::string>{"failure 1"});
}

TEST(AgentSessions, questions_are_bounded) {
  LogWorld world;
  world.connect("n", world.line);
  for (std::size_t i = 0; i < AgentSessions::questions_max; ++i) world.ask("n");
  EXPECT_TRUE(world.answers.empty());
  world.ask("n");
  EXPECT_EQ(world.answers, std::vector<std::string>{"failure 2"});
}

TEST(AgentSessions, closing_ends_every_session_and_takes_no_new_one) {
  LogWorld world;
  world.connect("n", world.line);
  world.ask("n");
  world.sessions.close();
  EXPECT_NE(world.line->closed, "");
  EXPECT_EQ(world.answers, std::vector{not_connected});
  EXPECT_FALSE(world.sessions.connect(world.inventory("m"), world.line, {}));
}

}  // namespace
}  // namespace keel
