#include <gtest/gtest.h>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// Children that ignore SIGTERM: one in a session of its own, one forked twice in a session of its
// own, one that has thrown away its environment. "here" once they are all there.
std::string stubborn(const Platform& platform) {
  const std::string stay =
      "\"trap '' TERM HUP INT; echo x >> $NOTES/children; while :; do sleep 1; done\" " +
      platform.mark() + " >/dev/null 2>&1 </dev/null";
  return "trap '' TERM\n"
         "setsid sh -c " +
         stay +
         " &\n"
         "( ( setsid sh -c " +
         stay +
         " & ) & )\n"
         "( ( setsid env -i PATH=$PATH NOTES=$NOTES sh -c " +
         stay +
         " & ) & )\n"
         "while [ \"$(cat \"$NOTES/children\" 2>/dev/null | wc -l)\" != 3 ]; do sleep 0.05; done\n"
         "touch \"$NOTES/here\"\n"
         "while :; do sleep 1; done\n";
}

// The job ends in `state`, whoever asks how often, and leaves no process.
void expect_canceled_twice(const Platform& platform, const std::string& job,
                           const std::string& state = "canceled") {
  EXPECT_EQ(platform.cancel(job), state);
  EXPECT_EQ(platform.cancel(job), state);
  EXPECT_EQ(platform.state(job), state);
}

// All of the devices are free again.
void expect_a_job_on_all_devices_runs(const Platform& platform, int tasks = 1) {
  const std::string next = platform.submit(platform.gang("true", tasks, 8));
  EXPECT_EQ(platform.await_end(next)["state"], "succeeded");
}

// Long enough for no frozen agent to be given up.
Platform::Options patient() { return {.keeld = {"--silence", "100s", "--heartbeat", "200ms"}}; }

TEST(Cancel, of_a_queued_job_is_final) {
  Platform platform;
  platform.start_keeld();
  const std::string job = platform.submit(platform.shell(note_start));
  platform.await_reason(job, "no_nodes");
  EXPECT_EQ(platform.state(job), "queued");
  expect_canceled_twice(platform, job);
  platform.start_agent();
  expect_a_job_on_all_devices_runs(platform);
  EXPECT_EQ(platform.state(job), "canceled");
  EXPECT_FALSE(platform.is_noted("starts"));
}

TEST(Cancel, outlives_a_kill_of_keeld) {
  Platform platform;
  platform.start_keeld();
  const std::string job = platform.submit(platform.shell(note_start));
  EXPECT_EQ(platform.cancel(job), "canceled");
  platform.keeld().kill9();
  platform.start_keeld();
  platform.start_agent();
  expect_a_job_on_all_devices_runs(platform);
  EXPECT_EQ(platform.state(job), "canceled");
  EXPECT_FALSE(platform.is_noted("starts"));
}

TEST(Cancel, of_a_reserved_job_is_final_and_frees_its_devices) {
  Platform platform(patient());
  platform.start_keeld();
  platform.start_agent();
  expect_a_job_on_all_devices_runs(platform);  // so the agent has been heard in full
  platform.agent().freeze();
  const std::string job = platform.submit(platform.gang(note_start, 2, 4));
  platform.await_state(job, "reserved");
  expect_canceled_twice(platform, job);
  platform.agent().thaw();
  expect_a_job_on_all_devices_runs(platform);
  EXPECT_EQ(platform.state(job), "canceled");
  EXPECT_FALSE(platform.is_noted("starts"));
}

TEST(Cancel, of_a_launching_job_stops_what_has_started) {
  Platform platform(patient());
  platform.start_keeld();
  platform.start_agent("n1");
  platform.start_agent("n2");
  expect_a_job_on_all_devices_runs(platform, 2);  // so both agents have been heard in full
  // Launching takes the word of both; one is made to miss the order to start.
  platform.agent("n1").freeze();
  const std::string job = platform.submit(platform.gang(stubborn(platform), 2, 8));
  platform.await_event(job, "task_prepared");
  platform.agent("n2").freeze();
  platform.agent("n1").thaw();
  platform.await_state(job, "launching");
  platform.await_note("here");
  EXPECT_EQ(platform.state(job), "launching");
  expect_canceled_twice(platform, job);
  platform.agent("n2").thaw();
  platform.await_nobody_left();
  expect_a_job_on_all_devices_runs(platform, 2);
  EXPECT_EQ(platform.state(job), "canceled");
}

TEST(Cancel, of_a_running_job_leaves_no_process_however_stubborn) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(stubborn(platform), 1, 8));
  platform.await_state(job, "running");
  platform.await_note("here");
  EXPECT_GE(living(platform.mark()).size(), 4u);
  expect_canceled_twice(platform, job);
  platform.await_nobody_left();
  expect_a_job_on_all_devices_runs(platform);
  expect_canceled_twice(platform, job);
}

TEST(Cancel, gives_a_job_its_grace_and_hears_its_last_words) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.shell(
      "trap 'echo saved; exit 0' TERM; touch \"$NOTES/here\"; while :; do sleep 0.05; done");
  spec["grace"] = "60s";
  const std::string job = platform.submit(spec);
  platform.await_state(job, "running");
  platform.await_note("here");
  EXPECT_EQ(platform.cancel(job), "canceled");
  EXPECT_EQ(platform.log(job), std::vector<std::string>{"saved"});
  platform.await_nobody_left();
}

TEST(Cancel, of_a_finishing_job_is_final) {
  Platform platform(patient());
  platform.start_keeld();
  platform.start_agent("n1");
  platform.start_agent("n2");
  const std::string script = "[ \"$RANK\" = 0 ] || exit 0\n" + until_told();
  const std::string job = platform.submit(platform.gang(script, 2, 8));
  platform.await_event(job, "task_ended");
  // The one whose task is over cannot commit its outputs now.
  const Json tasks = platform.job(job)["tasks"];
  const std::string over = tasks[1]["node"] == platform.node("n1") ? "n1" : "n2";
  platform.agent(over).freeze();
  platform.tell("go");
  platform.await_state(job, "finishing");
  expect_canceled_twice(platform, job);
  platform.agent(over).thaw();
  expect_a_job_on_all_devices_runs(platform, 2);
  EXPECT_EQ(platform.state(job), "canceled");
  platform.await_nobody_left();
}

TEST(Cancel, of_an_unknown_job_is_final_and_stops_it_when_its_agent_returns) {
  Platform platform({.keeld = {"--silence", "1s", "--heartbeat", "200ms"}});
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang(stubborn(platform), 1, 8));
  platform.await_state(job, "running");
  platform.await_note("here");
  platform.agent().kill9();
  platform.await_state(job, "unknown");
  expect_canceled_twice(platform, job);
  EXPECT_FALSE(platform.nobody_left());
  platform.start_agent();
  platform.await_nobody_left();
  expect_a_job_on_all_devices_runs(platform);
  EXPECT_EQ(platform.state(job), "canceled");
}

TEST(Cancel, of_a_job_that_has_ended_gives_the_state_it_had) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string good = platform.submit(platform.shell("true"));
  const std::string bad = platform.submit(platform.shell("false"));
  EXPECT_EQ(platform.await_end(good)["state"], "succeeded");
  EXPECT_EQ(platform.await_end(bad)["state"], "failed");
  const auto before = platform.events(good);
  expect_canceled_twice(platform, good, "succeeded");
  expect_canceled_twice(platform, bad, "failed");
  EXPECT_EQ(platform.events(good), before);
}

TEST(Cancel, at_any_moment_of_a_jobs_life_is_final_and_leaves_nobody) {
  Dice dice;
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  for (int round = 0; round < 15; ++round) {
    const std::string job = platform.submit(platform.gang("sleep 1000", 2, 4));
    dice.sleep_up_to_ms(300);
    expect_canceled_twice(platform, job);
  }
  platform.await_nobody_left();
  expect_a_job_on_all_devices_runs(platform);
}

}  // namespace
}  // namespace keel::e2e
