// The whole way with real processes: keel-nvml, a library that a file steers, real kills. What the
// double does is simulated; it proves what we make of it, not that NVIDIA's library does it.
#include "adapters/nvml/devices.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "adapters/clock/clock.h"

namespace keel {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto patience = std::chrono::seconds(60);  // its length only matters to a failing test

const std::string double_library = PROGRAM_DIR "/../test/libnvml_double.so";
const std::string hollow_library = PROGRAM_DIR "/../test/libnvml_hollow.so";
const std::string program = PROGRAM_DIR "/keel-nvml";

const std::string one = "GPU-11111111", two = "GPU-22222222", three = "GPU-33333333";
const std::string three_devices =
    "device " + one + " memory=85520809984 used=629145600 busy=7 temp=31 power=70123\n" +  //
    "device " + two + " memory=85520809984 arch=9\n" +                                     //
    "device " + three + " memory=85520809984\n";

// Processes of ours that live.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path() / "stat").rdbuf();  // it may end meanwhile
    const std::string stat = text.str();
    const std::size_t end = stat.rfind(')');
    if (end == stat.npos) continue;
    std::istringstream rest(stat.substr(end + 1));
    char state{};
    pid_t parent{};
    rest >> state >> parent;
    if (parent == ::getpid() && state != 'Z') pids.push_back(std::stoi(stat));
  }
  return pids;
}

struct Ran {
  int code{};
  std::string output;
};

Ran run(const std::string& command) {
  Ran ran;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> chunk{};
  while (const std::size_t n = ::fread(chunk.data(), 1, chunk.size(), pipe)) {
    ran.output.append(chunk.data(), n);
  }
  ran.code = WEXITSTATUS(::pclose(pipe));
  return ran;
}

class NvmlDevicesTest : public testing::Test {
 protected:
  NvmlDevicesTest() {
    directory_ = testing::TempDir() + "keel-nvml-XXXXXX";
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
    ::setenv("NVML_DOUBLE", (directory_ + "/steering").c_str(), 1);
    steer(three_devices);
  }
  ~NvmlDevicesTest() override {
    devices_.reset();
    EXPECT_THAT(children(), IsEmpty()) << "a process is left";
    std::filesystem::remove_all(directory_);
  }

  // What the double says from now on.
  void steer(const std::string& text) const {
    std::ofstream(directory_ + "/new") << text;
    std::filesystem::rename(directory_ + "/new", directory_ + "/steering");
  }

  static NvmlDevices::Options options() {
    NvmlDevices::Options options{.program = program, .library = double_library};
    options.times.every = milliseconds(50);
    options.times.patience.call = milliseconds(800);
    options.times.patience.init = seconds(10);
    options.times.patience.rest_first = milliseconds(20);
    options.times.patience.rest_max = milliseconds(200);
    return options;
  }

  void open(NvmlDevices::Options options = NvmlDevicesTest::options()) {
    auto catalogue = nvml::XidCatalogue::parse(nvml::built_in_xid_catalogue());
    ASSERT_TRUE(catalogue) << catalogue.error();
    devices_ = std::make_unique<NvmlDevices>(std::move(options), *std::move(catalogue), clock_);
  }

  void open_well() {
    open();
    EXPECT_TRUE(devices_->await_first(minutes(1)));
    await_health({DeviceHealth::healthy, DeviceHealth::healthy, DeviceHealth::healthy});
  }

  void await(const std::string& what, const std::function<bool()>& holds) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) {
        FAIL() << what << " did not come; " << said();
      }
      ::usleep(5'000);
    }
  }

  // Of devices one, two and three.
  void await_health(const std::vector<DeviceHealth>& wanted) const {
    await("the health of all", [&] {
      std::vector<DeviceHealth> now;
      for (const Device& device : devices_->list()) now.push_back(device.health);
      return now == wanted;
    });
  }

  void await_warning(const std::string& part) const {
    await("a warning of " + part, [&] { return said().find(part) != std::string::npos; });
  }

  std::string said() const {
    std::string text;
    for (const std::string& warning : devices_->state().warnings) text += warning + "\n";
    for (const Device& device : devices_->list()) {
      text += device.id.uuid + " " + std::string(print(device.health)) + "\n";
    }
    return text;
  }

  std::string directory_;
  BootClock clock_;
  std::unique_ptr<NvmlDevices> devices_;
};

TEST_F(NvmlDevicesTest, finds_the_devices_that_nvml_lists) {
  steer(three_devices);
  open_well();
  const Device expected{.id = {one}, .model = "h100-80gb", .memory = {85'520'809'984}};
  EXPECT_EQ(devices_->list().front(), expected);
  EXPECT_THAT(devices_->state().warnings, IsEmpty());
  const v1::NvmlReport report = devices_->report();
  EXPECT_EQ(report.driver().driver_version(), "999.1");
  EXPECT_EQ(report.driver().devices(), 3u);
  const v1::NvmlDevice& device = report.devices(0).device();
  EXPECT_EQ(device.memory_used_bytes(), 629'145'600);
  EXPECT_EQ(device.gpu_busy_percent(), 7u);
  EXPECT_EQ(device.temperature_c(), 31u);
  EXPECT_EQ(device.power_mw(), 70'123u);
  EXPECT_TRUE(device.processes_read());
}

struct Fault {
  std::string name, steering;
  std::vector<DeviceHealth> health;  // of devices one, two and three
  std::string warning;
};

// What goes wrong in the library, and what becomes of device two and of its neighbours. The letters
// are RELIABILITY's.
std::vector<Fault> faults_of_a_device() {
  constexpr auto well = DeviceHealth::healthy;
  constexpr auto out = DeviceHealth::draining;
  constexpr auto gone = DeviceHealth::failed;
  const std::string others = "device " + one + " memory=1000\ndevice " + three + " memory=1000\n";
  return {
      {"G1: lost as it is opened",
       three_devices + "fail nvmlDeviceGetHandleByIndex_v2@" + two + " 15",
       {well, gone, well},
       "nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)"},
      {"G1: lost in a later call",
       three_devices + "fail nvmlDeviceGetMemoryInfo@" + two + " 15",
       {well, gone, well},
       two + " is failed: nvmlDeviceGetMemoryInfo: GPU is lost (15)"},
      {"G1: lost, and the count with it",
       three_devices + "fail nvmlDeviceGetCount_v2 15\nfail nvmlDeviceGetHandleByIndex_v2@" + two +
           " 15",
       {well, gone, well},
       "GPU is lost (15)"},
      {"G1: not listed any more", others, {well, gone, well}, "NVML does not list it any more"},
      {"a reset is due",
       three_devices + "fail nvmlDeviceGetUUID@" + two + " 16",
       {well, gone, well},
       "GPU requires reset (16)"},
      {"G2: a row could not be remapped",
       others + "device " + two + " unmapped=1",
       {well, out, well},
       "could not be remapped"},
      {"G4: a call about it hangs",
       three_devices + "hang nvmlDeviceGetTemperature@" + two,
       {well, out, well},
       two + " is draining: nvmlDeviceGetTemperature does not return"},
      {"G4: it hangs before it has a name",
       three_devices + "hang nvmlDeviceGetUUID@" + two,
       {well, out, well},
       two + " is draining: nvmlDeviceGetUUID does not return"},
      {"a call about it kills the process",
       three_devices + "crash nvmlDeviceGetPowerUsage@" + two,
       {well, out, well},
       "keel-nvml was killed by signal 6 in nvmlDeviceGetPowerUsage"},
      {"MIG", others + "device " + two + " mig=1", {well, out, well}, "MIG is on"},
      {"a uuid stands twice",
       three_devices + "device " + two,
       {well, gone, well},
       "two devices of this uuid"},
      {"a uuid that is none", others + "device GPU,2", {well, gone, well}, "nvmlDeviceGetUUID"}};
}

// The library as a whole.
std::vector<Fault> faults_of_all() {
  constexpr auto out = DeviceHealth::draining;
  constexpr auto gone = DeviceHealth::failed;
  return {{"G4: everything hangs",
           three_devices + "hang nvmlDeviceGetCount_v2",
           {out, out, out},
           "GPUs cannot be read: nvmlDeviceGetCount_v2 does not return"},
          {"G15: the driver was upgraded",
           three_devices + "fail nvmlDeviceGetCount_v2 18",
           {out, out, out},
           "Driver/library version mismatch (18)"},
          {"the driver was unloaded",
           three_devices + "fail nvmlDeviceGetHandleByIndex_v2 9",
           {out, out, out},
           "Driver Not Loaded (9)"},
          {"no device at all", "", {gone, gone, gone}, "NVML does not list it any more"},
          {"a count that is nonsense",
           three_devices + "count 1000000",
           {out, out, out},
           "NVML tells of 1000000 devices; more than 1024 are not believed"}};
}

// Every row begins and ends with three healthy devices.
class NvmlFaults : public NvmlDevicesTest, public testing::WithParamInterface<bool> {};

TEST_P(NvmlFaults, strike_their_device_alone_and_pass) {
  constexpr auto well = DeviceHealth::healthy;
  open_well();
  for (const Fault& row : GetParam() ? faults_of_all() : faults_of_a_device()) {
    SCOPED_TRACE(row.name);
    steer(row.steering);
    await_health(row.health);
    await_warning(row.warning);
    steer(three_devices);
    await_health({well, well, well});
    if (HasFailure()) return;
  }
  await("silence", [&] { return devices_->state().warnings.empty(); });
}

INSTANTIATE_TEST_SUITE_P(of_a_device, NvmlFaults, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(of_the_whole_library, NvmlFaults, testing::Values(true));

// B-I6
TEST_F(NvmlDevicesTest, what_nvml_does_not_tell_or_cannot_mean_is_absent) {
  steer("device " + one +
        " memory=18446744073709551615 used=5 busy=250 temp=99999 power=4294967295\n"
        "device " +
        two +
        " memory=1000 used=1001\n"
        "device " +
        three + " name=NVIDIA_H200\nfail nvmlDeviceGetComputeRunningProcesses_v3 999\n");
  open_well();
  const v1::NvmlReport report = devices_->report();
  const v1::NvmlDevice& absurd = report.devices(0).device();
  EXPECT_FALSE(absurd.has_memory_total_bytes());
  EXPECT_FALSE(absurd.has_memory_used_bytes());
  EXPECT_FALSE(absurd.has_gpu_busy_percent());
  EXPECT_FALSE(absurd.has_temperature_c());
  EXPECT_FALSE(absurd.has_power_mw());
  const v1::NvmlDevice& full = report.devices(1).device();
  EXPECT_EQ(full.memory_total_bytes(), 1000);
  EXPECT_FALSE(full.has_memory_used_bytes()) << "more than there is";
  const v1::NvmlDevice& silent = report.devices(2).device();
  EXPECT_FALSE(silent.has_memory_total_bytes());
  EXPECT_FALSE(silent.has_ecc_uncorrected());
  EXPECT_FALSE(silent.has_remap_pending());
  EXPECT_FALSE(silent.has_mig_enabled());
  EXPECT_FALSE(silent.has_minor()) << "the double lacks that entry, as old drivers do";
  EXPECT_FALSE(silent.processes_read());
  EXPECT_EQ(report.devices(2).model(), "h200");
}

TEST_F(NvmlDevicesTest, without_a_library_there_are_none_and_it_says_why) {
  auto without = options();
  without.library = "libkeel-no-such-nvml.so.1";
  open(without);
  EXPECT_TRUE(devices_->await_first(minutes(1)));
  EXPECT_THAT(devices_->list(), IsEmpty());
  EXPECT_THAT(
      devices_->state().warnings,
      ElementsAre(HasSubstr("GPUs cannot be read: libkeel-no-such-nvml.so.1: cannot open")));
}

TEST_F(NvmlDevicesTest, a_library_that_is_no_nvml_is_named_with_what_it_lacks) {
  auto hollow = options();
  hollow.library = hollow_library;
  open(hollow);
  EXPECT_TRUE(devices_->await_first(minutes(1)));
  EXPECT_THAT(devices_->state().warnings, ElementsAre(HasSubstr("it lacks nvmlInit_v2")));
}

TEST_F(NvmlDevicesTest, without_a_driver_there_are_none_until_it_is_loaded) {
  steer("fail nvmlInit_v2 9");
  open();
  EXPECT_TRUE(devices_->await_first(minutes(1)));
  EXPECT_THAT(devices_->list(), IsEmpty());
  EXPECT_THAT(devices_->state().warnings,
              ElementsAre("GPUs cannot be read: nvmlInit_v2: Driver Not Loaded (9)"));
  steer(three_devices);
  await("the devices", [&] { return devices_->list().size() == 3; });
  await("silence", [&] { return devices_->state().warnings.empty(); });
}

TEST_F(NvmlDevicesTest, whoever_asks_never_waits_for_a_library_that_hangs) {
  steer(three_devices + "hang nvmlInit_v2");
  open();
  EXPECT_FALSE(devices_->await_first(milliseconds(300)));
  EXPECT_THAT(devices_->list(), IsEmpty());
  EXPECT_THAT(devices_->state().warnings, ElementsAre(HasSubstr("have not been read yet")));
}

TEST_F(NvmlDevicesTest, a_program_that_cannot_be_started_or_is_another_one_is_named) {
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {"/nonexistent/keel-nvml", "/nonexistent/keel-nvml: No such file"},
           {"/bin/false", "keel-nvml ended with code 1 at its start"}}) {
    auto other = options();
    other.program = path;
    open(other);
    await_warning(why);
  }
}

// G4, with a process that is truly frozen, wherever it is in its work.
TEST_F(NvmlDevicesTest, a_frozen_process_is_killed_and_replaced) {
  open_well();
  await("both processes", [] { return children().size() == 2; });
  for (const pid_t child : children()) ::kill(child, SIGSTOP);
  await("the loss to be noticed", [&] { return said().find("does not") != std::string::npos; });
  await_health({DeviceHealth::healthy, DeviceHealth::healthy, DeviceHealth::healthy});
  await("silence", [&] { return devices_->state().warnings.empty(); });
}

TEST_F(NvmlDevicesTest, killed_processes_are_replaced_without_a_word_in_the_end) {
  open_well();
  for (int i = 0; i < 5; ++i) {
    await("both processes", [] { return children().size() == 2; });
    for (const pid_t child : children()) ::kill(child, SIGKILL);
  }
  await("both processes", [] { return children().size() == 2; });
  await("silence", [&] { return devices_->state().warnings.empty(); });
  await_health({DeviceHealth::healthy, DeviceHealth::healthy, DeviceHealth::healthy});
}

// B-C11, G1
TEST_F(NvmlDevicesTest, an_xid_of_the_hardware_reaches_the_device_before_any_survey) {
  auto rare = options();
  rare.times.every = hours(1);
  open(rare);
  EXPECT_TRUE(devices_->await_first(minutes(1)));
  await("both processes", [] { return children().size() == 2; });
  // Its first packet may still be on the way: an event that came before it would be an old one.
  std::string events;
  await("the event", [&] {
    events += "event " + one + " 31\nevent " + two + " 79\n";
    steer(three_devices + events);
    ::usleep(100'000);
    return devices_->list()[1].health == DeviceHealth::failed;
  });
  EXPECT_THAT(said(), HasSubstr(two + " is failed: Xid 79: fell off the bus"));
  EXPECT_EQ(devices_->list()[0].health, DeviceHealth::healthy) << "Xid 31 is its program's fault";
  EXPECT_EQ(devices_->list()[2].health, DeviceHealth::healthy);
  const auto news = devices_->take_news();
  ASSERT_TRUE(news);
  EXPECT_THAT(*news, Contains(one + ": Xid 31: memory page fault (its program's fault)"));
  EXPECT_THAT(*news, Contains(two + ": Xid 79: fell off the bus"));
  EXPECT_FALSE(devices_->take_news()) << "nothing has happened since";
}

TEST_F(NvmlDevicesTest, an_uncorrectable_error_without_an_xid_counts_as_one) {
  open_well();
  std::string events;
  await("the event", [&] {
    events += "event " + three + " ecc\n";
    steer(three_devices + events);
    ::usleep(100'000);
    return devices_->list()[2].health == DeviceHealth::draining;
  });
  EXPECT_THAT(said(), HasSubstr("Xid 48"));
}

TEST_F(NvmlDevicesTest, events_that_cannot_be_heard_are_missed_aloud) {
  steer(three_devices + "fail nvmlDeviceRegisterEvents 3");
  open_well();
  await_warning("GPU events are not heard: no device tells of events");
  EXPECT_THAT(devices_->list(), SizeIs(3));
}

// G9, B-E12
TEST_F(NvmlDevicesTest, a_process_that_is_none_of_ours_makes_its_device_dirty) {
  open_well();
  devices_->hold({DeviceId{one}});
  const std::string used =
      "device " + one + " proc=4711:1000\ndevice " + two + " proc=4712\ndevice " + three + "\n";
  steer(used);
  await_health({DeviceHealth::healthy, DeviceHealth::dirty, DeviceHealth::healthy});
  EXPECT_THAT(said(), HasSubstr("process 4712 computes on it"));
  const v1::NvmlReport report = devices_->report();
  EXPECT_EQ(report.devices(0).device().processes(0).memory_bytes(), 1000);
  EXPECT_FALSE(report.devices(1).device().processes(0).has_memory_bytes());
  devices_->hold({});
  await_health({DeviceHealth::dirty, DeviceHealth::dirty, DeviceHealth::healthy});
  steer(three_devices);
  await_health({DeviceHealth::healthy, DeviceHealth::healthy, DeviceHealth::healthy});
}

TEST_F(NvmlDevicesTest, people_can_see_what_nvml_says) {
  steer(three_devices + "fail nvmlDeviceGetHandleByIndex_v2@" + three + " 15\n");
  const Ran table = run(program + " --library " + double_library);
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.output, HasSubstr("driver 999.1, NVML 99.999.1\n"));
  EXPECT_THAT(
      table.output,
      testing::ContainsRegex(one + "  h100-80gb  81559MiB  600MiB  7%    31C   70W    0 +healthy"));
  EXPECT_THAT(table.output,
              testing::ContainsRegex(two + "  h100-80gb  81559MiB  0MiB +-     -     -      0"));
  const Ran json = run(program + " --json --library " + double_library);
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.output, HasSubstr("\"memory_total_bytes\": 85520809984"));
  const Ran none = run(program + " --library libkeel-no-such-nvml.so.1");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.output, HasSubstr("warning: GPUs cannot be read: libkeel-no-such-nvml.so.1"));
  steer(three_devices + "hang nvmlDeviceGetCount_v2");
  const Ran hangs = run(program + " --deadline 200ms --library " + double_library);
  EXPECT_EQ(hangs.code, 1);
  EXPECT_THAT(hangs.output, HasSubstr("nvmlDeviceGetCount_v2 does not return"));
}

}  // namespace
}  // namespace keel
