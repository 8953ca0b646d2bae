// Jobs on the devices of an NVML that a file steers: the platform's own programs from end to end,
// with simulated hardware.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

const std::string library = PROGRAM_DIR "/../test/libnvml_double.so";

// Whose health is said by this run alone, and by no other test on this host.
std::string uuid(int number) {
  return "GPU-" + std::to_string(::getpid()) + "-000" + std::to_string(number);
}

std::string device(int number) {
  return "device " + uuid(number) + " memory=85520809984 used=629145600\n";
}

std::string devices(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += device(number);
  return text;
}

Platform::Options with_nvml() {
  Platform::Options options;
  options.devices = "nvml";
  options.agent = {"--nvml-library", library, "--nvml-every", "100ms", "--nvml-deadline", "2s"};
  return options;
}

class Nvml : public testing::Test {
 protected:
  Nvml() : platform_(with_nvml()) {
    ::setenv("NVML_DOUBLE", platform_.path("steering").c_str(), 1);
    steer(devices({0, 1, 2, 3}));
    platform_.start_keeld();
    platform_.start_agent();
  }
  ~Nvml() override { ::unsetenv("NVML_DOUBLE"); }

  void steer(const std::string& text) const {
    const std::string path = platform_.path("steering");
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }

  // By uuid.
  std::map<std::string, std::string> health() const {
    std::map<std::string, std::string> all;
    const Json page = platform_.get("/v1/nodes").json();
    for (const Json& view : page["nodes"]) {
      for (const Json& one : view["node"]["inventory"]["devices"]) all[one["uuid"]] = one["health"];
    }
    return all;
  }

  void await_health(int number, const std::string& wanted) const {
    await(uuid(number) + " to be " + wanted, [&] { return health()[uuid(number)] == wanted; });
  }

  // A task of this many GPUs that notes its devices, and stays until it is told.
  Json staying(int gpus, const std::string& until) const {
    return platform_.gang(
        "echo \"$CUDA_VISIBLE_DEVICES\" > \"$NOTES/new.$KEEL_JOB_ID\"\n"
        "mv \"$NOTES/new.$KEEL_JOB_ID\" \"$NOTES/has.$KEEL_JOB_ID\"\n" +
            until_told(until),
        1, gpus);
  }

  std::vector<std::string> devices_of(const std::string& job) const {
    platform_.await_note("has." + job);
    std::vector<std::string> list;
    std::istringstream text(lines_of(platform_.note("has." + job)).front());
    for (std::string one; std::getline(text, one, ',');) list.push_back(one);
    return list;
  }

  // The keel-nvml processes of this platform.
  std::vector<pid_t> servants() const {
    std::vector<pid_t> found;
    const auto ours = living(platform_.path("steering"));
    for (const pid_t pid : living("--serve")) {
      if (std::ranges::count(ours, pid) > 0) found.push_back(pid);
    }
    std::ranges::sort(found);
    return found;
  }

  std::string people_see() const {
    return run({PROGRAM_DIR "/keel", "--socket", platform_.path("keel.sock"), "nodes"},
               platform_.path("keel-cli"))
        .output;
  }

  Platform platform_;
};

// B-C10
TEST_F(Nvml, gives_each_task_its_own_devices_by_uuid_however_they_are_numbered) {
  const std::string first = platform_.submit(staying(1, "first"));
  std::set<std::string> taken;
  for (const std::string& one : devices_of(first)) taken.insert(one);
  // Device 1 is reset and comes back last: every position behind it moves.
  steer(devices({0, 2, 3}));
  await_health(1, "device_failed");
  steer(devices({0, 2, 3, 1}));
  await_health(1, "healthy");
  const std::string rest = platform_.submit(staying(3, "rest"));
  for (const std::string& one : devices_of(rest)) {
    EXPECT_TRUE(taken.insert(one).second) << one << " was given twice";
  }
  EXPECT_EQ(taken, (std::set<std::string>{uuid(0), uuid(1), uuid(2), uuid(3)}));
  platform_.tell("first");
  platform_.tell("rest");
  EXPECT_EQ(platform_.await_end(first)["state"], "succeeded");
  EXPECT_EQ(platform_.await_end(rest)["state"], "succeeded");
}

// B-C10: healthy are 0, 1, 3 and 6; then 1 goes and returns as the last of the list.
TEST_F(Nvml, gives_out_what_is_healthy_by_uuid_where_numbers_have_gaps) {
  const std::string ill = "fail nvmlDeviceGetHandleByIndex_v2@";
  std::string lost;
  for (const int number : {2, 4, 5}) lost += ill + uuid(number) + " 15\n";
  steer(devices({0, 1, 2, 3, 4, 5, 6}));
  await_health(6, "healthy");
  steer(devices({0, 1, 2, 3, 4, 5, 6}) + lost);
  for (const int number : {2, 4, 5}) await_health(number, "device_failed");
  const std::set<std::string> healthy{uuid(0), uuid(1), uuid(3), uuid(6)};
  const auto take_all = [&](const std::string& until) {
    const std::string job = platform_.submit(staying(4, until));
    const std::vector<std::string> has = devices_of(job);
    EXPECT_EQ(has.size(), 4U);
    EXPECT_EQ(std::set(has.begin(), has.end()), healthy);
    return job;
  };
  const std::string first = take_all("first");
  steer(devices({0, 2, 3, 4, 5, 6}) + lost);
  await_health(1, "device_failed");
  EXPECT_EQ(platform_.state(first), "running");
  steer(devices({0, 2, 3, 4, 5, 1, 6}) + lost);
  await_health(1, "healthy");
  platform_.tell("first");
  EXPECT_EQ(platform_.await_end(first)["state"], "succeeded");
  const std::string second = take_all("second");
  platform_.tell("second");
  EXPECT_EQ(platform_.await_end(second)["state"], "succeeded");
}

// B-C11
TEST_F(Nvml, one_device_that_is_lost_takes_no_other_with_it) {
  std::map<std::string, std::string> job_on;  // by uuid
  for (int i = 0; i < 4; ++i) {
    const std::string job = platform_.submit(staying(1, "go"));
    job_on[devices_of(job).at(0)] = job;
  }
  ASSERT_EQ(job_on.size(), 4u);
  const std::string lost = "fail nvmlDeviceGetCount_v2 15\nfail nvmlDeviceGetHandleByIndex_v2@" +
                           uuid(2) + " 15\nevent " + uuid(2) + " 79\n";
  steer(devices({0, 1, 2, 3}) + lost);
  await_health(2, "device_failed");
  const std::string seen = people_see();
  EXPECT_NE(seen.find(uuid(2) + " is failed: "), std::string::npos) << seen;
  EXPECT_NE(seen.find("GPU is lost (15)"), std::string::npos) << seen;
  for (const int number : {0, 1, 3}) {
    EXPECT_EQ(health()[uuid(number)], "healthy") << number;
    EXPECT_EQ(platform_.state(job_on[uuid(number)]), "running");
  }
  platform_.tell("go");
  for (const auto& [device, job] : job_on) {
    EXPECT_EQ(platform_.await_end(job)["state"], "succeeded") << "of " << device;
  }
  const std::string others = platform_.submit(staying(3, "others"));
  const std::vector<std::string> all = devices_of(others);
  EXPECT_EQ(std::set(all.begin(), all.end()), (std::set{uuid(0), uuid(1), uuid(3)}));
  platform_.tell("others");
  EXPECT_EQ(platform_.await_end(others)["state"], "succeeded");
  std::set<std::string> used;
  for (int i = 0; i < 8; ++i) {
    const std::string job = platform_.submit(staying(1, "go"));
    EXPECT_EQ(platform_.await_end(job)["state"], "succeeded");
    used.insert(devices_of(job).at(0));
  }
  EXPECT_FALSE(used.contains(uuid(2))) << "a lost device was handed out";
  const std::string large = platform_.submit(staying(4, "go"));
  EXPECT_EQ(platform_.await_reason(large, "exceeds_fleet")["state"], "queued");
  steer(devices({0, 1, 2, 3}));
  EXPECT_EQ(platform_.await_end(large)["state"], "succeeded") << "it is back";
  EXPECT_EQ(devices_of(large).size(), 4u);
}

// G4
TEST_F(Nvml, a_library_that_hangs_stops_no_job_and_no_agent_and_leaves_nothing) {
  const std::string job = platform_.submit(staying(1, "go"));
  devices_of(job);
  steer(devices({0, 1, 2, 3}) + "hang nvmlDeviceGetCount_v2\n");
  await_health(0, "draining");
  EXPECT_FALSE(servants().empty());
  EXPECT_EQ(platform_.state(job), "running");
  platform_.tell("go");
  EXPECT_EQ(platform_.await_end(job)["state"], "succeeded") << "the agent is as lively as ever";
  const std::string next = platform_.submit(staying(1, "go"));
  EXPECT_EQ(platform_.await_reason(next, "exceeds_fleet")["state"], "queued");
  // One that has just been started hangs by the time its owner dies.
  const auto before = servants();
  await("the next process", [&] { return !std::ranges::includes(before, servants()); });
  ::usleep(300'000);
  platform_.agent().kill9();
  await("the end of keel-nvml", [&] { return servants().empty(); });
  platform_.launch_agent();
  steer(devices({0, 1, 2, 3}));
  EXPECT_EQ(platform_.await_end(next)["state"], "succeeded");
}

// B-E12, G9
TEST_F(Nvml, a_device_that_somebody_else_holds_is_not_given_out) {
  steer(devices({0, 1, 2}) + "device " + uuid(3) + " memory=85520809984 proc=1\n");
  await_health(3, "dirty");
  const std::string job = platform_.submit(staying(4, "go"));
  EXPECT_EQ(platform_.await_reason(job, "exceeds_fleet")["state"], "queued");
  platform_.tell("go");
  steer(devices({0, 1, 2, 3}));
  EXPECT_EQ(platform_.await_end(job)["state"], "succeeded");
}

TEST(NvmlAgent, without_a_library_joins_with_no_devices_and_says_why) {
  auto options = with_nvml();
  options.agent[1] = "libkeel-no-such-nvml.so.1";
  Platform platform(options);
  platform.start_keeld();
  platform.start_agent();
  const Ran seen = run({PROGRAM_DIR "/keel", "--socket", platform.path("keel.sock"), "nodes"},
                       platform.path("keel-cli"));
  EXPECT_NE(seen.output.find("GPUs cannot be read: libkeel-no-such-nvml.so.1: cannot open"),
            std::string::npos)
      << seen.output;
  const std::string job = platform.submit(platform.gang("true", 1, 0));
  EXPECT_EQ(platform.await_end(job)["state"], "succeeded") << "a job without GPUs still runs";
}

}  // namespace
}  // namespace keel::e2e
