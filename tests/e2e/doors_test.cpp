// There is one of each.
#include <gtest/gtest.h>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// Replaces the argument behind `option`.
std::vector<std::string> with(std::vector<std::string> command, const std::string& option,
                              const std::string& value) {
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    if (command[i] == option) command[i + 1] = value;
  }
  return command;
}

void expect_refused(const Ran& ran, const std::string& names) {
  EXPECT_GT(ran.code, 0) << ran.output;
  EXPECT_LT(ran.code, 126) << ran.output;
  EXPECT_NE(ran.output.find(names), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("another"), std::string::npos) << ran.output;
}

TEST(Doors, a_second_keeld_on_the_same_data_is_refused) {
  Platform platform;
  platform.start_keeld();
  const auto command = with(platform.keeld_command(), "--socket", platform.path("other.sock"));
  expect_refused(run(command, platform.path("second")), platform.path("data"));
  EXPECT_EQ(platform.get("/healthz").status, 200);
}

TEST(Doors, a_second_keeld_on_the_same_socket_is_refused) {
  Platform platform;
  platform.start_keeld();
  const auto command = with(platform.keeld_command(), "--data", platform.path("other-data"));
  expect_refused(run(command, platform.path("second")), platform.path("keel.sock"));
  EXPECT_EQ(platform.get("/healthz").status, 200);
}

TEST(Doors, a_second_agent_on_the_same_state_is_refused) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(until_told(), 1, 8));
  platform.await_state(job, "running");
  const auto command = with(platform.agent_command(), "--name", platform.node("n2"));
  expect_refused(run(command, platform.path("second")), platform.agent_state());
  platform.tell("go");
  EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
}

}  // namespace
}  // namespace keel::e2e
