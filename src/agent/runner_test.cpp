// The order in which things are written and done, with a disk that may be full.
#include "agent/runner.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

const TaskKey key{{1}, {1}, 0};
const DeviceId g0{"GPU-0"};

struct Time final : Clock {
  Instant now() override { return at; }
  Instant at{};
};

struct Far final : Server {
  std::vector<ServerMessage> take() override { return std::exchange(mail, {}); }
  void send(const Report& report) override { reports.push_back(report); }
  void send_log(std::uint64_t, const std::optional<LogPart>&) override {}
  void introduce(const NodeInventory&, FencingToken) override {}

  std::vector<ServerMessage> mail;
  std::vector<Report> reports;
};

// Disk, processes and preparations: one list of all that was done, in order.
struct Near final : Claims, Preparations, Runtime {
  Result<Kept, std::string> load() override { return Kept{}; }
  Result<Done, std::string> write(const Claim&) override { return put("claim"); }
  Result<Done, std::string> write_floors(const std::map<DeviceId, FencingToken>&) override {
    return put("floors");
  }
  void erase(const TaskKey&) override { did("erase"); }

  void begin(const PrepareOrder&) override { did("begin"); }
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> take() override {
    return std::exchange(outcomes, {});
  }

  Result<Done, RuntimeError> prepare(const PrepareOrder&) override { return Done{}; }
  Result<Done, RuntimeError> start(const TaskKey&, Instant) override {
    did("start");
    tasks = {{.key = key, .phase = Observed::Phase::starting, .exit = {}}};
    return Done{};
  }
  void extend(const TaskKey&, Instant) override {}
  void stop(const TaskKey&, StopCause) override { did("stop"); }
  std::vector<Observed> observe(const std::vector<StartedTask>&) override { return tasks; }
  Result<Done, RuntimeError> commit(const TaskKey&) override { return Done{}; }
  void release(const TaskKey&) override { did("release"); }
  std::optional<LogPart> read_log(const TaskKey&, std::int64_t, std::int64_t) override {
    return std::nullopt;
  }

  void did(const std::string& what) { done += (done.empty() ? "" : " ") + what; }
  Result<Done, std::string> put(const std::string& what) {
    if (full) return std::string("the disk is full");
    did(what);
    return Done{};
  }

  bool full{};
  std::string done;
  std::vector<Observed> tasks;
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> outcomes;
};

struct Host {
  Time clock;
  Far far;
  Near near;
  Runner runner =
      *Runner::open({.id = {"n1"}, .devices = {{.id = g0}}}, {clock, far, near, near, near});

  Host() {
    far.mail = {
        ServerConnected{},
        ServerWelcomed{{.floors = {}, .disconnect_stop = minutes(30), .heartbeat = seconds(2)}}};
    runner.step();
  }
  // What was done about it.
  std::string step() {
    near.done.clear();
    runner.step();
    return near.done;
  }
  std::string tell(DutyKind kind) {
    far.mail = {
        ServerTold{{{"n1"}, key, {5}, std::move(kind)}, far.reports.back().number, JobSpec{}}};
    return step();
  }
  std::string prepare() {
    return tell(Prepare{.devices = {g0}, .claim_for = seconds(60), .tasks = 1});
  }
  TaskReport told() const { return far.reports.back().tasks.at(0); }
};

TEST(Runner, every_step_of_a_task_is_on_disk_before_it_is_done) {
  Host host;
  EXPECT_EQ(host.prepare(), "claim floors begin");
  host.near.outcomes = {{key, Done{}}};
  EXPECT_EQ(host.step(), "claim");
  EXPECT_EQ(host.tell(Start{}), "claim start");
  host.near.tasks = {{.key = key, .phase = Observed::Phase::running, .exit = {}}};
  EXPECT_EQ(host.step(), "claim");
  EXPECT_EQ(host.tell(Stop{StopCause::canceled}), "claim stop");
  EXPECT_EQ(host.runner.trouble(), "");
}

TEST(Runner, a_full_disk_refuses_what_is_new_and_still_stops_what_runs) {
  Host host;
  host.near.full = true;
  EXPECT_EQ(host.prepare(), "");
  EXPECT_EQ(host.told().phase, TaskPhase::refused);
  EXPECT_EQ(host.runner.trouble(), "the disk is full");
  EXPECT_EQ(host.tell(Release{}), "release erase");
  host.near.full = false;
  host.clock.at = Instant{seconds(2).us};
  EXPECT_EQ(host.step(), "floors");
  EXPECT_EQ(host.runner.trouble(), "") << "it is over";

  host.prepare();
  EXPECT_EQ(host.told().phase, TaskPhase::refused) << "the same token was seen before";
}

TEST(Runner, a_task_runs_on_and_is_stopped_while_the_disk_is_full) {
  Host host;
  host.prepare();
  host.near.outcomes = {{key, Done{}}};
  host.step();
  host.tell(Start{});
  host.near.full = true;
  host.near.tasks = {{.key = key, .phase = Observed::Phase::running, .exit = {}}};
  EXPECT_EQ(host.step(), "");
  EXPECT_EQ(host.told().phase, TaskPhase::running) << "what is seen is told, written or not";
  EXPECT_EQ(host.tell(Stop{StopCause::canceled}), "stop");
  host.near.full = false;
  host.clock.at = Instant{seconds(2).us};
  EXPECT_EQ(host.step(), "claim");
}

}  // namespace
}  // namespace keel
