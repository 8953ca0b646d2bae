// Limits that hold, and warnings where they cannot.
#include "adapters/processes/cgroups.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::HasSubstr;

bool in_force(const Host& host, const std::string& what) {
  for (const std::string& warning : const_cast<Host&>(host).runtime().warnings()) {
    if (warning.starts_with(what)) return false;
  }
  return true;
}

std::vector<std::string> groups_of(const Host& host) {
  v1::Launch launch;
  EXPECT_TRUE(launch.ParseFromString(contents(host.path(first_task, launch_file))));
  return {launch.cgroups().begin(), launch.cgroups().end()};
}

TEST(Cgroups, who_wants_more_memory_than_agreed_is_killed_and_the_record_says_so) {
  Host host;
  if (!in_force(host, "memory")) GTEST_SKIP() << "memory is not limited here";
  PrepareOrder order = host.order("");
  order.spec.program = "tail";
  order.spec.args = {"/dev/zero"};
  order.spec.memory_per_task = mebibytes(48);
  EXPECT_EQ(
      host.run(order),
      (Exit{.kind = ExitKind::signaled, .code = SIGKILL, .out_of_memory = true, .clean = true}));
}

// B-I9
TEST(Cgroups, reading_a_file_larger_than_the_memory_that_was_agreed_is_no_offence) {
  Host host;
  if (!in_force(host, "memory")) GTEST_SKIP() << "memory is not limited here";
  const std::string large = host.place().state + "/large";
  // Written, and not merely made long: pages of a hole need no memory that counts.
  std::ofstream(large) << std::string(160 << 20, 'x');
  const Descriptor file(::open(large.c_str(), O_RDWR));
  ASSERT_EQ(::fsync(file.get()), 0);
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0) << "to be read anew";
  ASSERT_EQ(::chmod(large.c_str(), 0644), 0);
  PrepareOrder order = host.order("cat " + large + " " + large + " | wc -c");
  order.spec.memory_per_task = mebibytes(48);
  EXPECT_EQ(host.run(order), (Exit{.kind = ExitKind::exited, .code = 0, .clean = true}));
  EXPECT_EQ(host.output(), std::to_string(320 << 20) + "\n");
}

TEST(Cgroups, a_child_that_runs_out_of_memory_is_told_of_a_failed_task_and_not_of_a_good_one) {
  Host host;
  if (!in_force(host, "memory")) GTEST_SKIP() << "memory is not limited here";
  PrepareOrder order = host.order("tail /dev/zero; exit 1");
  order.spec.memory_per_task = mebibytes(48);
  EXPECT_EQ(host.run(order),
            (Exit{.kind = ExitKind::exited, .code = 1, .out_of_memory = true, .clean = true}));
  PrepareOrder good = host.order("tail /dev/zero; exit 0", {first_task.job, AttemptNo{1}, 1});
  good.spec.memory_per_task = mebibytes(48);
  EXPECT_EQ(host.run(good), (Exit{.kind = ExitKind::exited, .code = 0, .clean = true}));
}

TEST(Cgroups, a_kill_that_is_not_for_memory_is_not_told_as_one) {
  Host host;
  PrepareOrder order = host.order("kill -9 $$");
  order.spec.memory_per_task = mebibytes(64);
  EXPECT_EQ(host.run(order), (Exit{.kind = ExitKind::signaled, .code = SIGKILL, .clean = true}));
}

TEST(Cgroups, a_task_is_in_its_groups_and_these_have_its_limits) {
  Host host;
  if (!in_force(host, "pids") || !in_force(host, "cpu")) GTEST_SKIP() << "not limited here";
  PrepareOrder order = host.order("exec sleep 1000");
  order.spec.cpu_per_task = Millicores{1500};
  host.start(order);
  ASSERT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  std::string limits;
  for (const std::string& group : groups_of(host)) {
    EXPECT_EQ(members(group), std::vector<pid_t>{host.shim_identity().task_pid()}) << group;
    limits += contents(group + "/pids.max") + contents(group + "/cpu.cfs_quota_us") +
              contents(group + "/cpu.max");
  }
  EXPECT_THAT(limits, HasSubstr("16384\n"));
  EXPECT_THAT(limits, HasSubstr("150000"));
}

TEST(Cgroups, killing_is_of_members_only_and_removal_waits_for_them) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("true")));
  const std::vector<std::string> groups = groups_of(host);
  if (groups.empty()) GTEST_SKIP() << "no groups here";
  for (const std::string& group : groups) {
    SCOPED_TRACE(group);
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::ofstream(group + "/cgroup.procs") << "0" << std::flush;
      ::execl("/bin/sleep", "sleep", "1000", nullptr);
      ::_exit(1);
    }
    EXPECT_TRUE(eventually([&] { return !is_empty(group); }));
    EXPECT_FALSE(remove_groups({group}));
    kill_members(group);
    ::waitpid(pid, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return is_empty(group); }));
  }
  EXPECT_TRUE(remove_groups(groups));
  EXPECT_TRUE(remove_groups(groups)) << "what is not there is removed already";
}

TEST(Cgroups, a_host_without_them_gives_warnings_and_no_errors) {
  const Cgroups none = *Cgroups::open("/nowhere", "keel/x");
  EXPECT_EQ(none.warnings().size(), 4U);
  EXPECT_THAT(none.warnings().at(0), HasSubstr("memory limits are not in force"));
  const auto groups = none.make("a-task", {.memory = mebibytes(1), .cpu = Millicores{1}});
  ASSERT_TRUE(groups);
  EXPECT_TRUE(groups->empty());
}

TEST(Cgroups, a_group_that_cannot_be_entered_keeps_the_program_from_starting) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("true")));
  if (groups_of(host).empty()) GTEST_SKIP() << "no groups here";
  ASSERT_TRUE(remove_groups(groups_of(host)));
  ASSERT_TRUE(host.runtime().start(first_task, never));
  const Exit exit = host.await_end();
  EXPECT_EQ(exit.kind, ExitKind::not_started);
  EXPECT_THAT(exit.text, HasSubstr("control group"));
}

TEST(Cgroups, prepare_makes_them_again) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("exit 2")));
  EXPECT_TRUE(remove_groups(groups_of(host)));
  ASSERT_TRUE(host.runtime().prepare(host.order("exit 2")));
  ASSERT_TRUE(host.runtime().start(first_task, never));
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::exited, .code = 2, .clean = true}));
}

// The groups of this run in any hierarchy, as a person would look for them.
int places_of(const std::string& base) {
  int found = 0;
  for (const char* hierarchy : {"", "/memory", "/cpu", "/pids", "/freezer", "/unified"}) {
    found += ::access(("/sys/fs/cgroup" + std::string(hierarchy) + "/" + base).c_str(), F_OK) == 0;
  }
  return found;
}

TEST(Cgroups, an_agent_that_ends_leaves_no_place_behind_unless_a_task_needs_it) {
  std::string base;
  int places = 0;
  {
    Host host;
    base = host.place().cgroup_base;
    places = places_of(base);
    host.start(host.order("exec sleep 1000"));
    host.restart();
    EXPECT_EQ(places_of(base), places) << "its task is still there";
  }
  EXPECT_TRUE(places > 0 || !is_root());
  EXPECT_EQ(places_of(base), 0);
}

}  // namespace
}  // namespace keel
