#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// A note for each task of each attempt: its devices, when it began, and when it was about to end.
const std::string note_stay =
    "note=\"$NOTES/stay.$KEEL_JOB_ID.$KEEL_ATTEMPT.$RANK\"\n"
    "echo \"$CUDA_VISIBLE_DEVICES\" > \"$note\"; date +%s%N >> \"$note\"\n";
const std::string note_leaving = "date +%s%N >> \"$note\"\n";

struct Stay {
  std::string task;
  std::vector<std::string> devices;
  std::int64_t begin{};
  std::int64_t end{};
};

std::vector<Stay> stays(const Platform& platform) {
  std::vector<Stay> all;
  for (const auto& file : std::filesystem::directory_iterator(platform.note(""))) {
    const std::string name = file.path().filename();
    const auto lines = lines_of(file.path());
    if (!name.starts_with("stay.") || lines.size() != 3) continue;
    Stay stay{name, {}, std::stoll(lines[1]), std::stoll(lines[2])};
    std::istringstream devices(lines[0]);
    for (std::string device; std::getline(devices, device, ',');) stay.devices.push_back(device);
    all.push_back(stay);
  }
  std::ranges::sort(all, {}, &Stay::begin);
  return all;
}

void expect_no_overlap(const std::vector<Stay>& all) {
  std::map<std::string, const Stay*> last;  // by device
  for (const Stay& stay : all) {
    for (const std::string& device : stay.devices) {
      const Stay*& before = last[device];
      EXPECT_LE(before ? before->end : 0, stay.begin) << before->task << " and " << stay.task;
      before = &stay;
    }
  }
  EXPECT_LE(last.size(), 8u);
}

TEST(Gang, jobs_of_any_size_never_overlap_on_a_device) {
  Dice dice;
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  std::map<std::string, std::pair<int, int>> jobs;  // tasks, GPUs of each
  for (int i = 0; i < 20; ++i) {
    const int tasks = dice.throw_between(1, 3);
    const int gpus = dice.throw_between(1, 8 / tasks);
    const std::string pause = "sleep 0." + std::to_string(dice.throw_between(0, 3)) + "\n";
    jobs[platform.submit(platform.gang(note_stay + pause + note_leaving, tasks, gpus))] = {tasks,
                                                                                           gpus};
  }
  std::size_t tasks_due = 0;
  for (const auto& [id, size] : jobs) {
    const Json job = platform.await_end(id);
    EXPECT_EQ(job["state"], "succeeded") << job;
    tasks_due += static_cast<std::size_t>(size.first);
  }
  const auto all = stays(platform);
  EXPECT_EQ(all.size(), tasks_due);
  for (const Stay& stay : all) {
    const auto& size = jobs.at(stay.task.substr(5, stay.task.find('.', 5) - 5));
    EXPECT_EQ(stay.devices.size(), static_cast<std::size_t>(size.second)) << stay.task;
  }
  expect_no_overlap(all);
}

TEST(Gang, two_jobs_that_want_more_gpus_than_there_are_run_one_after_the_other) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script = note_stay + until_told() + note_leaving;
  const std::string first = platform.submit(platform.gang(script, 1, 5));
  platform.await_state(first, "running");
  const std::string second = platform.submit(platform.gang(script, 1, 5));
  EXPECT_EQ(platform.await_reason(second, "no_free_gpus")["state"], "queued");
  platform.tell("go");
  EXPECT_EQ(platform.await_end(first)["state"], "succeeded");
  EXPECT_EQ(platform.await_end(second)["state"], "succeeded");
  const auto all = stays(platform);
  ASSERT_EQ(all.size(), 2u);
  expect_no_overlap(all);
  EXPECT_LE(all[0].end, all[1].begin);
}

TEST(Gang, that_fits_only_in_part_starts_no_task_until_room_comes) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string first =
      platform.submit(platform.gang(until_told() + note_stay + note_leaving, 1, 5));
  platform.await_state(first, "running");
  // Three GPUs are free: enough for one of its tasks.
  const std::string gang = platform.submit(platform.gang(note_stay + note_leaving, 2, 2));
  EXPECT_EQ(platform.await_reason(gang, "no_free_gpus")["state"], "queued");
  EXPECT_EQ(platform.events(gang), (std::vector<std::string>{"submitted", "admitted"}));
  EXPECT_EQ(platform.job(gang)["attempt"], 0);
  EXPECT_TRUE(stays(platform).empty());
  platform.tell("go");
  EXPECT_EQ(platform.await_end(gang)["state"], "succeeded");
  const auto all = stays(platform);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[0].task.find(first), std::string::npos) << "a task started before there was room";
}

TEST(Gang, that_not_even_the_empty_fleet_could_hold_says_so) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string job = platform.submit(platform.gang("true", 3, 3));
  EXPECT_EQ(platform.await_reason(job, "exceeds_fleet")["state"], "queued");
}

TEST(Gang, is_stopped_and_failed_when_one_task_fails_naming_task_and_code) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script = until_told() + "[ $RANK = 1 ] && exit 3\nsleep 1000\n";
  const std::string job = platform.submit(platform.gang(script, 3, 1));
  platform.await_state(job, "running");
  platform.tell("go");
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_EQ(ended["reason"], "program_failed");
  EXPECT_EQ(ended["first_failed"], 1) << ended;
  EXPECT_EQ(ended["tasks"][1]["exit"]["code"], 3);
  EXPECT_EQ(ended["tasks"][1]["exit"]["cause"], "by_itself");
  for (const std::size_t other : {0u, 2u}) {
    EXPECT_EQ(ended["tasks"][other]["exit"]["cause"], "by_sibling") << ended;
  }
  EXPECT_TRUE(platform.nobody_left()) << "a job was ended while some of it ran";
  const Ran told =
      run({PROGRAM_DIR "/keel", "--socket", platform.path("keel.sock"), "describe", job},
          platform.path("keel-cli"));
  EXPECT_EQ(told.code, 0) << told.output;
  EXPECT_NE(told.output.find("task 1: "), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("code 3"), std::string::npos) << told.output;
}

// B-E14
TEST(Gang, one_rank_that_is_killed_ends_those_that_spin_and_heed_no_signal) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script = "trap '' TERM\n" + until_told() +
                             "[ $RANK = 2 ] && kill -KILL $$\n"
                             "while :; do sleep 0.02; done\n";
  Json spec = platform.gang(script, 4, 2);
  spec["grace"] = "2s";
  const std::string job = platform.submit(spec);
  platform.await_state(job, "running");
  platform.tell("go");
  const auto told = std::chrono::steady_clock::now();
  const Json ended = platform.await_end(job);
  EXPECT_LT(std::chrono::steady_clock::now() - told, std::chrono::seconds(2 + 10))
      << "B-E14: its grace and ten seconds";
  EXPECT_EQ(ended["state"], "failed");
  EXPECT_EQ(ended["first_failed"], 2) << ended;
  EXPECT_EQ(ended["tasks"][2]["exit"]["kind"], "signaled") << ended;
  EXPECT_EQ(ended["tasks"][2]["exit"]["code"], 9) << ended;
  for (const std::size_t other : {0u, 1u, 3u}) {
    EXPECT_EQ(ended["tasks"][other]["exit"]["cause"], "by_sibling") << ended;
  }
  EXPECT_TRUE(platform.nobody_left()) << "a job was ended while some of it ran";
  const std::string next = platform.submit(platform.gang("true", 1, 8));
  EXPECT_EQ(platform.await_end(next)["state"], "succeeded") << "all its devices are free again";
}

TEST(Gang, goes_on_when_a_task_ends_with_0_early) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script = "[ $RANK = 1 ] && exit 0\ntouch \"$NOTES/here\"\n" + until_told() +
                             "touch \"$NOTES/to-the-end\"\n";
  const std::string job = platform.submit(platform.gang(script, 2, 1));
  platform.await_event(job, "task_ended");
  platform.await_state(job, "running");
  platform.await_note("here");
  EXPECT_FALSE(platform.nobody_left());
  platform.tell("go");
  EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
  EXPECT_TRUE(platform.is_noted("to-the-end"));
}

}  // namespace
}  // namespace keel::e2e
