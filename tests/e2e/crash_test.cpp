#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// Quick to notice that an agent is gone.
Platform::Options quick() { return {.keeld = {"--silence", "1s", "--heartbeat", "200ms"}}; }

// Writes 1, 2, 3 … to its log, and beside it what a test can see while nobody serves, until the
// note "go" is there. Its last line says how many there were; it ends with 7.
Json counting(const Platform& platform) {
  return platform.gang(note_start +
                           "i=0\n"
                           "while [ ! -e \"$NOTES/go\" ]; do\n"
                           "  i=$((i + 1)); echo $i; echo $i >> \"$NOTES/progress\"; sleep 0.02\n"
                           "done\n"
                           "echo $i > \"$NOTES/over\"\n"
                           "echo end $i; exit 7\n",
                       1, 1);
}

// Until the job has done more than it had when this was asked.
void await_progress(const Platform& platform) {
  const std::string note = platform.note("progress");
  const auto size = [&note] {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(note, none);
    return none ? 0 : bytes;
  };
  const auto before = size();
  await("progress of the job", [&] { return size() > before + 20; });
}

std::string counting_job(const Platform& platform) {
  const std::string job = platform.submit(counting(platform), "counting");
  platform.await_state(job, "running");
  await_progress(platform);
  return job;
}

void expect_whole(const std::vector<std::string>& lines) {
  ASSERT_GE(lines.size(), 1u);
  std::vector<std::string> due;
  for (std::size_t i = 1; i < lines.size(); ++i) due.push_back(std::to_string(i));
  due.push_back("end " + std::to_string(lines.size() - 1));
  EXPECT_EQ(lines, due);
}

// It ran once, and everything of it is known. An attempt before that may have come to nothing.
void expect_ran_once_to_7(const Platform& platform, const std::string& job) {
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["state"], "failed") << ended;
  EXPECT_EQ(ended["reason"], "program_failed");
  EXPECT_EQ(ended["tasks"][0]["exit"]["kind"], "exited");
  EXPECT_EQ(ended["tasks"][0]["exit"]["code"], 7) << ended;
  EXPECT_EQ(lines_of(platform.note("starts")),
            std::vector<std::string>{ended["attempt"].dump() + " 0"});
  expect_whole(platform.log(job));
  platform.await_nobody_left();
}

// Likewise of one that was running when something was killed: there is one attempt.
void expect_ended_with_7(const Platform& platform, const std::string& job) {
  expect_ran_once_to_7(platform, job);
  EXPECT_EQ(platform.job(job)["attempt"], 1);
}

TEST(Crash, of_keeld_lets_the_job_go_on_and_its_state_and_log_are_right_afterwards) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.keeld().kill9();
  await_progress(platform);
  platform.start_keeld();
  platform.await_state(job, "running");
  await_progress(platform);
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

TEST(Crash, of_keeld_does_not_lose_the_exit_code_of_a_job_that_ended_meanwhile) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.keeld().kill9();
  platform.tell("go");
  platform.await_nobody_left();
  platform.start_keeld();
  expect_ended_with_7(platform, job);
}

TEST(Crash, of_the_agent_lets_the_job_go_on_and_it_is_adopted_afterwards) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.agent().kill9();
  platform.await_state(job, "unknown");
  await_progress(platform);
  platform.start_agent();
  platform.await_state(job, "running");
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

TEST(Crash, of_the_agent_does_not_lose_the_exit_code_of_a_job_that_ended_meanwhile) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.agent().kill9();
  platform.tell("go");
  platform.await_nobody_left();
  platform.start_agent();
  expect_ended_with_7(platform, job);
}

TEST(Crash, of_both_at_once_lets_the_job_go_on) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.agent().kill9();
  platform.keeld().kill9();
  await_progress(platform);
  platform.start_keeld();
  platform.start_agent();
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

TEST(Crash, of_both_does_not_lose_a_job_that_ended_meanwhile) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.keeld().kill9();
  platform.agent().kill9();
  platform.tell("go");
  platform.await_nobody_left();
  platform.launch_agent();  // finds nobody at first
  platform.start_keeld();
  expect_ended_with_7(platform, job);
}

// An agent with the node's name and another state directory.
std::vector<std::string> stranger_command(const Platform& platform) {
  auto command = platform.agent_command();
  *std::ranges::find(command, platform.agent_state()) = platform.path("stranger");
  return command;
}

void await_line(const std::string& log, const std::string& text) {
  await("\"" + text + "\" in " + log, [&] {
    return std::ranges::any_of(lines_of(log), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  });
}

TEST(Crash, of_an_agent_whose_disk_is_gone_starts_nothing_twice_and_its_disk_may_come_back) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  platform.agent().kill9();
  Program stranger;
  stranger.start(stranger_command(platform), platform.path("stranger.log"));
  await_line(platform.path("stranger.log"), "still has tasks of another agent");
  platform.await_state(job, "unknown");
  await_progress(platform);
  EXPECT_EQ(stranger.terminate(), 0);
  platform.start_agent();
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

TEST(Crash, is_no_way_for_a_second_agent_to_take_a_node_over) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  Program stranger;
  stranger.start(stranger_command(platform), platform.path("stranger.log"));
  EXPECT_EQ(stranger.await_end(), 1);
  await_line(platform.path("stranger.log"), "is in use by another agent");
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

// Whom a kill hits; bits, so that both can be.
enum Victim { keeld = 1, agent = 2 };

void kill_and_restart(Platform& platform, int victims, Dice& dice) {
  if (victims & keeld) platform.keeld().kill9();
  if (victims & agent) platform.agent().kill9();
  dice.sleep_up_to_ms(300);
  if (victims & agent) platform.launch_agent();
  if (victims & keeld) platform.start_keeld();
}

TEST(Crash, at_any_moment_of_a_jobs_life_makes_it_run_once_and_loses_nothing_of_it) {
  Dice dice;
  for (int round = 1; round <= 5; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Platform platform(quick());
    platform.start_keeld();
    platform.start_agent();
    const std::string job = platform.submit(counting(platform), "counting");
    for (int kills = dice.throw_between(1, 3); kills > 0; --kills) {
      dice.sleep_up_to_ms(400);
      if (dice.throw_between(0, 3) == 0) platform.tell("go");
      kill_and_restart(platform, dice.throw_between(keeld, keeld | agent), dice);
    }
    EXPECT_EQ(platform.submitted(counting(platform), "counting")["existing"], true);
    platform.tell("go");
    expect_ran_once_to_7(platform, job);
  }
}

TEST(Ending, by_sigterm_of_keeld_and_agent_is_prompt_and_lets_the_job_go_on) {
  Platform platform(quick());
  platform.start_keeld();
  platform.start_agent();
  const std::string job = counting_job(platform);
  EXPECT_EQ(platform.agent().terminate(), 0);
  EXPECT_EQ(platform.keeld().terminate(), 0);
  await_progress(platform);
  platform.start_keeld();
  platform.start_agent();
  platform.tell("go");
  expect_ended_with_7(platform, job);
}

}  // namespace
}  // namespace keel::e2e
