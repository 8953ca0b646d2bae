// Time limits, start deadlines, retries, and the lease of a task whose control plane is gone.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

TEST(TimeLimit, fails_a_job_that_runs_longer) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.gang("trap '' TERM; while :; do sleep 1; done", 2, 1);
  spec["time_limit"] = "2s";
  const Json job = platform.await_end(platform.submit(spec));
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["reason"], "time_limit_reached") << job;
  EXPECT_EQ(job["attempt"], 1);
  EXPECT_TRUE(platform.nobody_left());
}

TEST(StartDeadline, expires_a_job_that_has_not_started) {
  Platform platform;
  platform.start_keeld();
  Json spec = platform.shell(note_start);
  spec["start_deadline"] = "1s";
  const std::string job = platform.submit(spec);
  EXPECT_EQ(platform.await_end(job)["state"], "expired");
  EXPECT_EQ(platform.cancel(job), "expired");
  platform.start_agent();
  EXPECT_EQ(platform.await_end(platform.submit(platform.shell("true")))["state"], "succeeded");
  EXPECT_FALSE(platform.is_noted("starts"));
}

TEST(StartDeadline, leaves_a_job_alone_that_has_started) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.shell("echo started");
  spec["start_deadline"] = "1h";
  EXPECT_EQ(platform.await_end(platform.submit(spec))["state"], "succeeded");
}

TEST(Retries, start_a_failed_job_over_under_the_same_id) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script =
      note_start + "echo attempt $KEEL_ATTEMPT of $KEEL_JOB_ID; [ $KEEL_ATTEMPT = 2 ]";
  Json spec = platform.gang(script, 1, 1);
  spec["retries"] = 1;
  const std::string job = platform.submit(spec);
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["state"], "succeeded") << ended;
  EXPECT_EQ(ended["attempt"], 2);
  EXPECT_EQ(ended["user_failures"], 1);
  EXPECT_EQ(platform.log(job), std::vector<std::string>{"attempt 2 of " + job});
  EXPECT_EQ(lines_of(platform.note("starts")), (std::vector<std::string>{"1 0", "2 0"}));
}

TEST(Retries, end_when_they_are_used_up) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.gang(note_start + "exit 9", 1, 1);
  const Json without = platform.await_end(platform.submit(spec));
  EXPECT_EQ(without["state"], "failed");
  EXPECT_EQ(without["attempt"], 1);
  spec["retries"] = 1;
  const Json with_one = platform.await_end(platform.submit(spec));
  EXPECT_EQ(with_one["state"], "failed") << with_one;
  EXPECT_EQ(with_one["reason"], "program_failed");
  EXPECT_EQ(with_one["attempt"], 2);
  EXPECT_EQ(with_one["tasks"][0]["exit"]["code"], 9);
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 3u);
}

const std::string for_ever =
    note_start + "trap '' TERM\nsetsid sleep 100000 &\nwhile :; do sleep 1; done\n";

TEST(Lease, of_a_task_ends_it_when_keeld_is_gone_for_good) {
  Platform platform(
      {.keeld = {"--disconnect-stop", "2s", "--heartbeat", "200ms", "--silence", "1s"}});
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(for_ever, 2, 4));
  platform.await_state(job, "running");
  platform.keeld().kill9();
  platform.await_nobody_left();
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 2u);
  // What ended for the platform's sake is begun again.
  platform.start_keeld();
  await("the second attempt", [&] { return lines_of(platform.note("starts")).size() == 4; });
  EXPECT_EQ(platform.job(job)["infrastructure_failures"], 1);
  EXPECT_EQ(platform.cancel(job), "canceled");
  platform.await_nobody_left();
}

// B-E2: nine tenths into it a new agent comes, which hears nobody either.
TEST(Lease, of_a_task_grows_by_no_restart_of_its_agent) {
  Platform platform(
      {.keeld = {"--disconnect-stop", "10s", "--heartbeat", "200ms", "--silence", "1s"}});
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.gang(for_ever, 1, 1);
  spec["grace"] = "1s";
  const std::string job = platform.submit(spec);
  platform.await_state(job, "running");
  platform.keeld().kill9();
  const auto alone = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::steady_clock::now() - alone; };
  std::this_thread::sleep_for(std::chrono::seconds(7));
  platform.agent().kill9();
  platform.launch_agent();
  EXPECT_FALSE(platform.nobody_left());
  platform.await_nobody_left();
  EXPECT_GT(since(), std::chrono::seconds(8)) << "not before its time";
  EXPECT_LT(since(), std::chrono::seconds(7 + 10)) << "a lease from the restart on would end then";
}

TEST(Lease, of_a_task_ends_it_without_an_agent) {
  Platform platform({.keeld = {"--disconnect-stop", "2s", "--heartbeat", "200ms"}});
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(for_ever, 2, 4));
  platform.await_state(job, "running");
  platform.agent().kill9();
  platform.await_nobody_left();
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 2u);
}

TEST(Lease, of_a_task_is_not_touched_by_a_short_absence_of_keeld) {
  Platform platform(
      {.keeld = {"--disconnect-stop", "60s", "--heartbeat", "200ms", "--silence", "1s"}});
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(note_start + until_told(), 2, 4));
  platform.await_state(job, "running");
  platform.keeld().kill9();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the absence
  platform.start_keeld();
  platform.await_state(job, "running");
  platform.tell("go");
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["state"], "succeeded") << ended;
  EXPECT_EQ(ended["attempt"], 1);
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 2u);
}

}  // namespace
}  // namespace keel::e2e
