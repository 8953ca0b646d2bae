// Full disks, floods of output, doors that are taken, files of a newer version.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

Ran keel(const Platform& platform, std::vector<std::string> words) {
  words.insert(words.begin(), {PROGRAM_DIR "/keel", "--socket", platform.path("keel.sock")});
  return run(words, platform.path("keel.out"));
}

// A small file system under an agent's state, for as long as this lives.
class SmallDisk {
 public:
  SmallDisk(std::string path, const std::string& size) : path_(std::move(path)) {
    ::mkdir(path_.c_str(), 0711);
    const std::string options = "mode=711,size=" + size;
    EXPECT_EQ(::mount("keel-test", path_.c_str(), "tmpfs", 0, options.c_str()), 0);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() { ::umount2(path_.c_str(), MNT_DETACH); }

 private:
  std::string path_;
};

std::string condition(const Platform& platform) {
  return platform.get("/v1/nodes").json()["nodes"][0]["node"]["inventory"]["condition"];
}

TEST(FullDisk, ends_the_job_that_filled_it_as_it_ended_and_keeps_new_ones_away_until_then) {
  ASSERT_EQ(::geteuid(), 0u) << "this test takes root: it mounts a small file system";
  Platform platform({.keeld = {}, .agent = {"--disk-wanted", "2Mi"}});
  const SmallDisk disk(platform.agent_state(), "16m");
  platform.start_keeld();
  platform.start_agent();
  EXPECT_EQ(condition(platform), "fit");
  const std::string filling = platform.submit(platform.gang(
      "cat /dev/zero > all; : > \"$NOTES/full\"\n" + until_told() + "yes | head -n 1000; exit 7", 1,
      1));
  platform.await_note("full");
  await("a node whose disk is full", [&] { return condition(platform) == "disk_full"; });
  const std::string shown = keel(platform, {"nodes"}).output;
  EXPECT_NE(shown.find("disk_full"), std::string::npos) << shown;
  EXPECT_NE(shown.find("the disk is full: "), std::string::npos) << shown;
  const std::string waiting = platform.submit(platform.shell("echo late"));
  EXPECT_EQ(platform.await_end(platform.submit([&] {
    Json spec = platform.shell("true");
    spec["start_deadline"] = "2s";
    return spec;
  }()))["state"],
            "expired")
      << "nothing new begins there";
  EXPECT_EQ(platform.state(waiting), "queued");
  EXPECT_EQ(platform.job(waiting)["attempt"], 0) << "it is not even tried there";
  platform.tell("go");
  const Json ended = platform.await_end(filling);
  EXPECT_EQ(ended["reason"], "program_failed") << ended;
  EXPECT_EQ(ended["tasks"][0]["exit"]["code"], 7) << ended;
  EXPECT_EQ(platform.await_end(waiting)["state"], "succeeded");
  EXPECT_EQ(condition(platform), "fit");
}

TEST(Flood, of_output_never_ends_the_reading_of_what_was_there_and_hinders_nobody) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string flooding = platform.submit(platform.gang("exec yes", 1, 1));
  platform.await_state(flooding, "running");
  await("more than a log may hold", [&] {
    const Json part = platform.get("/v1/jobs/" + flooding + "/logs?offset=0").json();
    return part["dropped"] == true;
  });
  const Ran read = keel(platform, {"logs", flooding});
  EXPECT_EQ(read.code, 0);
  EXPECT_GT(std::ranges::count(read.output, '\n'), 1000);
  EXPECT_EQ(platform.state(flooding), "running");
  const Json other = platform.await_end(platform.submit(platform.gang("echo hello", 1, 1)));
  EXPECT_EQ(other["state"], "succeeded");
  EXPECT_EQ(platform.log(other["id"]), std::vector<std::string>{"hello"});
  EXPECT_EQ(platform.cancel(flooding), "canceled");
  platform.await_nobody_left();
}

// The logs that were kept are bounded by what the agent was told.
TEST(Logs, of_ended_tasks_are_kept_as_many_as_was_said) {
  Platform platform({.keeld = {}, .agent = {"--logs-kept", "2"}});
  platform.start_keeld();
  platform.start_agent();
  std::vector<std::string> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(platform.submit(platform.shell("echo " + std::to_string(i))));
    platform.await_end(jobs.back());
  }
  await("the oldest logs to go", [&] {
    return keel(platform, {"logs", jobs[1]}).output.find("1\n") == std::string::npos;
  });
  EXPECT_NE(keel(platform, {"logs", jobs[0]}).code, 0);
  EXPECT_EQ(keel(platform, {"logs", jobs[2]}).output, "2\n");
  EXPECT_EQ(keel(platform, {"logs", jobs[3]}).output, "3\n");
}

void put_format(const std::string& path, char version) {
  // The field `format`, number 1, comes first in each of these files.
  std::string bytes = contents(path);
  ASSERT_GE(bytes.size(), 2u) << path;
  ASSERT_EQ(bytes[0], '\x08') << path;
  bytes[1] = version;
  const std::string beside = path + ".test";
  std::ofstream(beside) << bytes;
  std::filesystem::rename(beside, path);
}

// A job on all eight devices that ends with 7 when it is told to, and runs without its agent.
std::string run_without_agent(Platform& platform) {
  platform.start_keeld();
  platform.start_agent();
  const std::string job =
      platform.submit(platform.gang(note_start + until_told() + "exit 7", 1, 8));
  platform.await_state(job, "running");
  platform.await_note("starts");
  platform.agent().kill9();
  return job;
}

TEST(NewerVersion, of_a_shims_files_is_told_and_the_task_and_its_devices_are_left_alone) {
  Platform platform({.keeld = {"--silence", "1s", "--heartbeat", "200ms"}});
  const std::string job = run_without_agent(platform);
  const std::string shim = platform.agent_state() + "/tasks/" + job + ".1.0/shim";
  put_format(shim, 2);
  platform.start_agent();
  await("words about the newer file", [&] {
    return keel(platform, {"nodes"}).output.find("its shim file was written by a newer version") !=
           std::string::npos;
  });
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(platform.state(job), "running");
  EXPECT_FALSE(platform.nobody_left());
  const Json node = platform.get("/v1/nodes").json()["nodes"][0];
  EXPECT_EQ(node["held"].size(), 8u);
  EXPECT_EQ(node["node"]["state"], "ready");
  platform.agent().kill9();
  put_format(shim, 1);
  platform.start_agent();
  platform.tell("go");
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["tasks"][0]["exit"]["code"], 7) << ended;
  EXPECT_EQ(ended["attempt"], 1);
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 1u);
}

TEST(NewerVersion, of_a_claim_keeps_an_older_agent_from_starting_and_nothing_is_lost) {
  Platform platform({.keeld = {"--silence", "1s", "--heartbeat", "200ms"}});
  const std::string job = run_without_agent(platform);
  const std::string claim = platform.agent_state() + "/tasks/" + job + ".1.0/claim";
  put_format(claim, 2);
  const std::string bytes = contents(claim);
  const Ran refused = run(platform.agent_command(), platform.path("older"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.output.find("the claim of " + job + ".1.0 was written by a newer version"),
            std::string::npos)
      << refused.output;
  EXPECT_EQ(contents(claim), bytes);
  platform.await_state(job, "unknown");
  EXPECT_FALSE(platform.nobody_left());
  put_format(claim, 1);
  platform.start_agent();
  platform.await_state(job, "running");
  platform.tell("go");
  const Json ended = platform.await_end(job);
  EXPECT_EQ(ended["tasks"][0]["exit"]["code"], 7) << ended;
  EXPECT_EQ(ended["attempt"], 1);
}

// B-E15: each of them cleans up; one takes its time, and its node goes on as a good one.
TEST(ManyEnds, in_one_second_are_all_seen_and_a_slow_one_makes_no_bad_node) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string script = "trap 'sleep 0.2; echo tidy' EXIT\n: > \"$NOTES/here.$KEEL_JOB_ID\"\n";
  std::vector<std::string> jobs;
  for (int i = 0; i < 60; ++i) {
    jobs.push_back(platform.submit(platform.shell(script + until_told() + "exit 0\n")));
  }
  Json slow = platform.shell("trap '' TERM\n: > \"$NOTES/slow\"\nwhile :; do sleep 0.05; done\n");
  slow["grace"] = "20s";
  const std::string last = platform.submit(slow);
  platform.await_note("slow");
  for (const std::string& job : jobs) platform.await_note("here." + job);
  platform.cancel(last);
  platform.tell("go");
  for (const std::string& job : jobs) {
    EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
    EXPECT_EQ(platform.log(job), std::vector<std::string>{"tidy"});
  }
  EXPECT_FALSE(platform.nobody_left()) << "the slow one has its grace";
  EXPECT_EQ(condition(platform), "fit");
  EXPECT_EQ(platform.await_end(platform.submit(platform.gang("true", 1, 8)))["state"], "succeeded");
  platform.await_nobody_left();
}

}  // namespace
}  // namespace keel::e2e
