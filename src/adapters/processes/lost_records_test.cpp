// Tasks whose records on disk are gone, or cannot be written: nothing of them stays behind, and no
// end is told as clean while something lives.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::HasSubstr;

// A process that heeds no SIGTERM and has left its parents, and the main one.
std::string two_that_stay(const std::string& word) {
  return "trap '' TERM; ( setsid sh -c \"trap '' TERM; exec sleep " + word +
         "\" & ); echo ready; exec sleep " + word;
}

void await_ready(Host& host) {
  ASSERT_TRUE(eventually([&] { return host.output() == "ready\n"; }));
}

std::optional<Observed> observed(Host& host, const std::vector<StartedTask>& started) {
  const auto all = host.runtime().observe(started);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

class LostDirectory : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Hosts, LostDirectory, testing::Values("/sys/fs/cgroup", "/no/groups"),
                         [](const auto& named) {
                           return named.index == 0 ? "with_groups" : "without_groups";
                         });

TEST_P(LostDirectory, a_task_that_loses_its_directory_is_killed_and_lost) {
  Host host({.cgroup_root = GetParam()});
  const std::string word = unique_word();
  const PrepareOrder order = host.order(two_that_stay(word));
  host.start(order);
  await_ready(host);
  const Identity shim = host.shim();
  ASSERT_TRUE(remove_tree(AT_FDCWD, host.path(first_task)));
  const std::vector<StartedTask> started{{first_task, order.owner.uid, true}};
  std::optional<Observed> seen;
  ASSERT_TRUE(eventually([&] {
    seen = observed(host, started);
    EXPECT_TRUE(seen) << "as long as it is asked for, it is told";
    const bool clean = seen && seen->exit.clean;
    EXPECT_FALSE(clean && anybody_runs(word));
    return !seen || clean;
  }));
  EXPECT_EQ(seen->phase, Observed::Phase::ended);
  EXPECT_EQ(seen->exit.kind, ExitKind::lost);
  EXPECT_TRUE(eventually([&] { return !look_at(shim.pid); })) << "its shim has nothing to keep";
}

TEST_P(LostDirectory, a_shim_whose_directory_is_gone_ends_with_all_of_its_task) {
  Host host({.cgroup_root = GetParam()});
  const std::string word = unique_word();
  host.start(host.order(two_that_stay(word)));
  await_ready(host);
  const Identity shim = host.shim();
  ASSERT_TRUE(remove_tree(AT_FDCWD, host.path(first_task)));
  EXPECT_TRUE(eventually([&] { return !look_at(shim.pid); }));
  EXPECT_FALSE(anybody_runs(word));
}

TEST(LostRecords, what_another_state_directory_started_is_seen_and_killed_only_by_order) {
  Host host;
  const std::string word = unique_word();
  host.start(host.order(two_that_stay(word)));
  await_ready(host);
  const std::string elsewhere = host.place().state + "-elsewhere";
  ASSERT_EQ(std::rename(host.place().state.c_str(), elsewhere.c_str()), 0);
  host.restart();
  for (int i = 0; i < 3; ++i) {
    const auto seen = observed(host, {});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->key, first_task);
    EXPECT_EQ(seen->phase, Observed::Phase::running);
  }
  EXPECT_TRUE(anybody_runs(word));
  EXPECT_TRUE(eventually([&] {
    host.runtime().stop(first_task, StopCause::superseded);
    return !observed(host, {});
  }));
  EXPECT_FALSE(anybody_runs(word));
  (void)remove_tree(AT_FDCWD, elsewhere);
}

TEST(LostRecords, what_another_state_directory_started_is_killed_where_no_shim_keeps_it) {
  Host host;
  const std::string word = unique_word();
  host.start(host.order(two_that_stay(word)));
  await_ready(host);
  host.kill_shim_and_guard();
  ASSERT_TRUE(remove_tree(AT_FDCWD, host.place().state));
  host.restart();
  EXPECT_TRUE(eventually([&] {
    const auto seen = observed(host, {});
    EXPECT_TRUE(!seen || seen->phase == Observed::Phase::ended);
    return !seen || seen->exit.clean;
  }));
  EXPECT_FALSE(anybody_runs(word));
  EXPECT_TRUE(eventually([&] { return !observed(host, {}); })) << "and its groups are gone";
}

TEST(LostRecords, a_task_that_ran_and_looks_merely_prepared_is_killed_and_lost) {
  Host host;
  const std::string word = unique_word();
  const PrepareOrder order = host.order(two_that_stay(word));
  host.start(order);
  await_ready(host);
  host.kill_shim_and_guard();
  const auto task = open_directory(host.path(first_task));
  ASSERT_TRUE(eventually([&] { return !is_locked(task->get()); }));
  ASSERT_EQ(::unlink(host.path(first_task, shim_file).c_str()), 0);
  EXPECT_EQ(observed(host, {{first_task, order.owner.uid, false}})->phase,
            Observed::Phase::prepared);
  EXPECT_TRUE(eventually([&] {
    const auto seen = observed(host, {{first_task, order.owner.uid, true}});
    EXPECT_EQ(seen->phase, Observed::Phase::ended);
    return seen->exit.clean;
  }));
  EXPECT_FALSE(anybody_runs(word));
}

TEST(LostRecords, two_agents_of_one_name_do_not_share_a_host) {
  Host host;
  RuntimePlace other = host.place();
  other.state = new_directory();
  const auto second = LocalRuntime::open(other);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("is in use by another agent"));
  host.restart();  // the first one may come back
  (void)remove_tree(AT_FDCWD, other.state);
}

TEST(LostRecords, a_task_whose_shim_cannot_be_started_is_lost_and_never_starts_late) {
  for (const std::string shim : {"/bin/false", "/not/there"}) {
    Host host({.shim = shim});
    ASSERT_TRUE(host.runtime().prepare(host.order("exit 0")));
    EXPECT_FALSE(host.runtime().start(first_task, never));
    const Exit exit = host.await_end();
    EXPECT_EQ(exit.kind, ExitKind::lost);
    EXPECT_THAT(exit.text, HasSubstr(shim));
    const std::string late = PROGRAM_DIR "/keel-shim " + host.path(first_task);
    FILE* const output = ::popen(late.c_str(), "r");
    char line[200] = "";
    EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
    ::pclose(output);
    EXPECT_THAT(line, HasSubstr("has ended before"));
  }
}

TEST(LostRecords, a_task_is_stopped_also_while_the_disk_is_full) {
  if (!is_root()) GTEST_SKIP() << "only root can mount a small file system";
  const std::string small = new_directory();
  ASSERT_EQ(::mount("keel-test", small.c_str(), "tmpfs", 0, "size=2m,mode=711"), 0);
  {
    Host host({.state = small + "/state"});
    host.start(host.order("echo ready; exec sleep 1000"));
    await_ready(host);
    std::ofstream(small + "/filler") << std::string(4 << 20, 'f');
    host.runtime().stop(first_task, StopCause::canceled);
    const pid_t task = host.shim_identity().task_pid();
    EXPECT_TRUE(eventually([&] { return !look_at(task); }));
    ::unlink((small + "/filler").c_str());
    EXPECT_EQ(host.await_end().cause, StopCause::canceled);
  }
  ::umount2(small.c_str(), MNT_DETACH);
  ::rmdir(small.c_str());
}

TEST(LostRecords, an_agent_without_descriptors_concludes_nothing_from_what_it_cannot_see) {
  Host host;
  const PrepareOrder order = host.order("exec sleep 1000");
  host.start(order);
  ASSERT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  const std::vector<StartedTask> started{{first_task, order.owner.uid, true}};
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Descriptor next(::open("/dev/null", O_RDONLY));
  const rlimit few{static_cast<rlim_t>(next.get()) + 1, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto seen = host.runtime().observe(started);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].phase, Observed::Phase::running);
  EXPECT_EQ(host.observe()->phase, Observed::Phase::running) << "and has killed nobody";
}

}  // namespace
}  // namespace keel
