// There is one of each.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

TEST(Doors, a_port_that_is_taken_is_named_and_nothing_is_left_behind) {
  Platform platform;
  platform.start_keeld();
  const std::string address = "127.0.0.1:" + std::to_string(platform.http().port);
  auto command = with(platform.keeld_command(), "--data", platform.path("other-data"));
  command = with(command, "--socket", platform.path("other.sock"));
  command = with(command, "--address-file", platform.path("other-address"));
  const Ran ran = run(with(command, "--http", address), platform.path("second"));
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_NE(ran.output.find(address + ": Address already in use"), std::string::npos) << ran.output;
  EXPECT_FALSE(std::filesystem::exists(platform.path("other.sock")));
  EXPECT_FALSE(std::filesystem::exists(platform.path("other-address")));
  EXPECT_EQ(platform.get("/healthz").status, 200);
  EXPECT_TRUE(ask(platform.http(), {.target = "/healthz"}));
}

TEST(Doors, a_file_where_the_socket_should_be_is_left_as_it_is) {
  Platform platform;
  std::ofstream(platform.path("keel.sock")) << "precious";
  const Ran ran = run(platform.keeld_command(), platform.path("first"));
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_NE(ran.output.find("keel.sock: there is a file that is no socket"), std::string::npos)
      << ran.output;
  EXPECT_EQ(contents(platform.path("keel.sock")), "precious");
}

TEST(Doors, a_socket_that_a_killed_keeld_left_is_no_hindrance) {
  Platform platform;
  platform.start_keeld();
  platform.keeld().kill9();
  EXPECT_TRUE(std::filesystem::exists(platform.path("keel.sock")));
  platform.start_keeld();
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
