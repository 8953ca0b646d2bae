// How tasks end: by orders, by limits, by leases, by the death of those who watch them; and that an
// ended task leaves no process behind.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>

#include "adapters/processes/local_runtime.h"
#include "adapters/processes/remains.h"
#include "adapters/processes/test_host.h"

namespace keel {
namespace {

// A process in a session of its own, nobody's child, that ignores the usual signals.
std::string stubborn(const std::string& word) {
  return "(trap '' TERM INT HUP; setsid sleep " + word + " & ) & ";
}

// Runs without any control group, as on a host that allows none.
const Host::Options no_groups{.cgroup_root = "/nowhere"};

void await_running(Host& host, const TaskKey& key = first_task) {
  EXPECT_TRUE(eventually([&] { return host.observe(key)->phase == Observed::Phase::running; }));
}

void await_output(Host& host, const std::string& text) {
  EXPECT_TRUE(eventually([&] { return host.output().find(text) != std::string::npos; }));
}

// A main process and one that has left it run. Gives the argument that both have.
std::string start_with_one_that_stays(Host& host) {
  const std::string word = unique_word();
  host.start(host.order(stubborn(word) + "echo ready; exec sleep " + word));
  await_output(host, "ready");
  return word;
}

TEST(Ending, a_stop_is_noticed_and_its_cause_recorded) {
  Host host;
  host.start(
      host.order("trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.05; done"));
  await_output(host, "ready");
  host.runtime().stop(first_task, StopCause::preempted);
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(
      host.await_end(),
      (Exit{.kind = ExitKind::exited, .code = 5, .cause = StopCause::preempted, .clean = true}));
  EXPECT_EQ(host.output(), "ready\nsaved\n");
}

TEST(Ending, the_signal_is_the_one_that_was_agreed) {
  Host host;
  PrepareOrder order = host.order(
      "trap 'echo term' TERM; trap 'exit 9' USR1; echo ready; "
      "while :; do sleep 0.05; done");
  order.spec.stop_signal = SIGUSR1;
  host.start(order);
  await_output(host, "ready");
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().code, 9);
  EXPECT_EQ(host.output(), "ready\n");
}

// B-D13
TEST(Ending, who_ignores_the_notice_is_killed_after_the_grace_and_not_before) {
  Host host;
  PrepareOrder order = host.order("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  order.spec.grace = milliseconds(700);
  host.start(order);
  await_output(host, "ready");
  const Instant asked = boot_now();
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::signaled,
                                    .code = SIGKILL,
                                    .cause = StopCause::canceled,
                                    .clean = true}));
  EXPECT_GE(boot_now() - asked, order.spec.grace);
  EXPECT_LT(boot_now() - asked, order.spec.grace + seconds(3));
}

// B-D13
TEST(Ending, a_wrapping_shell_does_not_take_the_notice_from_the_program_that_heeds_it) {
  Host host;
  PrepareOrder order = host.order(
      "sh -c 'trap \"sleep 0.3; echo saved; exit 0\" TERM; echo ready; "
      "while :; do sleep 0.05; done'; exit 4");
  order.spec.grace = seconds(10);
  host.start(order);
  await_output(host, "ready");
  host.runtime().stop(first_task, StopCause::preempted);
  EXPECT_EQ(host.await_end().code, 4);
  EXPECT_EQ(host.output(), "ready\nsaved\n");
}

// B-D13
TEST(Ending, each_of_eight_programs_below_a_wrapping_shell_hears_the_notice_once) {
  Host host;
  host.start(
      host.order("for i in 1 2 3 4 5 6 7 8; do\n"
                 "  sh -c 'trap \"echo heard '$i'; n=x\" TERM; echo ready\n"
                 "    until [ $n ]; do sleep 0.02; done; sleep 0.3' &\n"
                 "done; wait; wait"));
  EXPECT_TRUE(eventually([&] {
    const std::string text = host.output();
    return std::ranges::count(text, '\n') == 8;
  }));
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().cause, StopCause::canceled);
  for (const char one : std::string("12345678")) {
    const std::string line = std::string("heard ") + one + "\n";
    const std::string text = host.output();
    const std::size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << line << text;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << text;
  }
}

// B-E12
TEST(Ending, no_process_is_left_whoever_ends_first) {
  struct Row {
    const char* name;
    std::string main;
    bool stop;
    Host::Options options;
  };
  const Row rows[] = {
      {"the main process ends by itself", "exit 0", false, {}},
      {"it is stopped", "exec sleep 1000", true, {}},
      {"it ends by itself, without control groups", "exit 0", false, no_groups},
      {"it is stopped, without control groups", "exec sleep 1000", true, no_groups},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Host host(row.options);
    const std::string word = unique_word();
    host.start(host.order(stubborn(word) + stubborn(word) + "sleep 0.5; echo ready; " + row.main));
    if (row.stop) {
      await_output(host, "ready");
      EXPECT_TRUE(anybody_runs(word));
      host.runtime().stop(first_task, StopCause::canceled);
    }
    EXPECT_TRUE(host.await_end().clean);
    EXPECT_FALSE(anybody_runs(word));
    EXPECT_EQ(host.output(), "ready\n");
  }
}

TEST(Ending, a_task_that_forks_without_end_is_gone_all_the_same) {
  Host host;
  const std::string word = unique_word();
  host.start(host.order("f() { (trap '' TERM; sleep " + word +
                        " & while :; do sleep 0.01 & done) & };"
                        " f; f; echo ready; exec sleep " +
                        word));
  await_output(host, "ready");
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().cause, StopCause::canceled);
  EXPECT_FALSE(anybody_runs(word));
}

TEST(Ending, the_time_limit_holds_the_grace_inside) {
  Host host;
  PrepareOrder order =
      host.order("trap 'echo notice' TERM; echo ready; while :; do sleep 0.05; done");
  order.spec.time_limit = milliseconds(1500);
  order.spec.grace = milliseconds(700);
  const Instant before = boot_now();
  const Exit exit = host.run(order);
  EXPECT_EQ(exit, (Exit{.kind = ExitKind::signaled,
                        .code = SIGKILL,
                        .cause = StopCause::time_limit,
                        .clean = true}));
  EXPECT_GE(boot_now() - before, order.spec.time_limit);
  EXPECT_EQ(host.output(), "ready\nnotice\n");
}

TEST(Ending, what_was_stopped_or_has_no_lease_any_more_is_never_started) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("echo ran")));
  host.runtime().stop(first_task, StopCause::canceled);
  ASSERT_TRUE(host.runtime().start(first_task, never));
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::not_started,
                                    .cause = StopCause::canceled,
                                    .clean = true,
                                    .text = "stopped before its program was started"}));
  const TaskKey second{first_task.job, AttemptNo{1}, 1};
  host.start(host.order("echo ran", second), boot_now());
  EXPECT_EQ(host.await_end(second).cause, StopCause::lease);
  EXPECT_EQ(host.output() + host.output(false, second), "");
}

TEST(Ending, an_extended_lease_lets_it_go_on) {
  Host host;
  host.start(host.order("sleep 2; exit 6"), boot_now() + seconds(1));
  host.runtime().extend(first_task, boot_now() + seconds(60));
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::exited, .code = 6, .clean = true}));
}

TEST(Ending, orders_that_cannot_be_read_stop_and_leases_that_cannot_extend_nothing) {
  Host host;
  host.start(host.order("exec sleep 1000"), boot_now() + milliseconds(800));
  std::ofstream(host.path(first_task, lease_file), std::ios::trunc) << "\xff\xff";
  EXPECT_EQ(host.await_end().cause, StopCause::lease);
  const TaskKey second{first_task.job, AttemptNo{1}, 1};
  host.start(host.order("exec sleep 1000", second));
  await_running(host, second);
  std::ofstream(host.path(second, stop_file)) << "\xff\xff";
  EXPECT_EQ(host.await_end(second).cause, StopCause::canceled);
}

// An agent of its own process, which prepares, starts and then only waits to be killed.
pid_t start_agent(const RuntimePlace& place, const PrepareOrder& order, Instant lease) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto runtime = LocalRuntime::open(place);
    if (!runtime || !(*runtime)->prepare(order) || !(*runtime)->start(order.key, lease)) ::_exit(1);
    (void)!::write(ends[1], "x", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  char ready{};
  EXPECT_EQ(::read(ends[0], &ready, 1), 1) << "the agent did not start the task";
  ::close(ends[0]);
  return pid;
}

void kill_agent(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// B-E18
TEST(Ending, the_agents_death_disturbs_nothing_and_the_end_is_right_though_nobody_watched) {
  Host host;
  host.end_agent();
  const pid_t agent =
      start_agent(host.place(), host.order("echo begin; sleep 1; echo done; exit 42"), never);
  kill_agent(agent);
  ::sleep(2);
  host.restart();
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::exited, .code = 42, .clean = true}));
  EXPECT_EQ(host.output(), "begin\ndone\n");
  EXPECT_TRUE(host.runtime().read_log(first_task, 0, 1000)->end);
}

TEST(Ending, a_restarted_agent_finds_its_tasks_running_and_can_stop_them) {
  Host host;
  host.end_agent();
  kill_agent(start_agent(host.place(), host.order("exec sleep 1000"), never));
  host.restart();
  await_running(host);
  EXPECT_TRUE(host.runtime().start(first_task, never)) << "and starts none of them twice";
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().cause, StopCause::canceled);
}

// B-E2
TEST(Ending, without_an_agent_the_lease_ends_it) {
  Host host;
  const std::string word = unique_word();
  PrepareOrder order = host.order(stubborn(word) +
                                  "trap 'echo notice' TERM; "
                                  "while :; do sleep 0.05; done");
  host.end_agent();
  kill_agent(start_agent(host.place(), order, boot_now() + milliseconds(1500)));
  EXPECT_TRUE(eventually([&] { return exists(AT_FDCWD, host.path(first_task, exit_file)); }));
  EXPECT_FALSE(anybody_runs(word));
  host.restart();
  EXPECT_EQ(host.await_end().cause, StopCause::lease);
  EXPECT_EQ(host.output(), "notice\n");
}

// B-E18
TEST(Ending, a_killed_shim_takes_its_task_along_and_the_end_is_lost) {
  for (const Host::Options& options : {Host::Options{}, no_groups}) {
    SCOPED_TRACE(options.cgroup_root);
    Host host(options);
    const std::string word = start_with_one_that_stays(host);
    await_running(host);
    ASSERT_TRUE(eventually([&] { return anybody_runs(word); }));
    host.kill_shim_and_guard();
    EXPECT_EQ(host.await_end(),
              (Exit{.kind = ExitKind::lost, .clean = true, .text = "its shim died"}));
    EXPECT_FALSE(anybody_runs(word));
    EXPECT_FALSE(host.runtime().start(first_task, never) && anybody_runs(word));
    EXPECT_TRUE(host.runtime().read_log(first_task, 0, 1000)->end);
  }
}

TEST(Ending, the_main_process_dies_with_its_shim_even_if_nobody_looks) {
  Host host(no_groups);
  const std::string word = unique_word();
  host.start(host.order("exec sleep " + word));
  await_running(host);
  host.kill_shim_and_guard();
  EXPECT_TRUE(eventually([&] { return !anybody_runs(word); }));
}

// Without a guard those who left the main process live until an agent looks, which may be frozen
// until the devices are given to others.
TEST(Ending, all_that_a_killed_shim_left_ends_even_if_nobody_looks) {
  for (const Host::Options& options : {Host::Options{}, no_groups}) {
    SCOPED_TRACE(options.cgroup_root);
    Host host(options);
    const std::string word = start_with_one_that_stays(host);
    const Identity shim = host.shim();
    const Identity guard = host.guard();
    ::kill(shim.pid, SIGKILL);
    EXPECT_TRUE(eventually([&] { return !anybody_runs(word); }));
    EXPECT_TRUE(eventually([&] { return !hold(guard); })) << "nobody is left to guard";
    EXPECT_EQ(host.await_end(),
              (Exit{.kind = ExitKind::lost, .clean = true, .text = "its shim died"}));
  }
}

TEST(Ending, a_killed_guard_disturbs_nothing) {
  Host host;
  host.start(host.order("echo ready; trap 'exit 5' TERM; while :; do sleep 0.05; done"));
  await_output(host, "ready");
  const Identity shim = host.shim();
  signal_one(host.guard(), SIGKILL);
  ::usleep(50'000);
  EXPECT_EQ(host.observe()->phase, Observed::Phase::running);
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().code, 5);
  EXPECT_TRUE(eventually([&] { return !hold(shim); }));
}

TEST(Ending, a_task_of_an_earlier_boot_is_lost) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("true")));
  v1::ShimIdentity shim;
  shim.set_pid(1);
  shim.set_start_ticks(look_at(1)->who.start_ticks);
  shim.set_boot_id("of yesterday");
  const auto task = open_directory(host.path(first_task));
  ASSERT_TRUE(write_message(task->get(), shim_file, shim, Lasting::process));
  EXPECT_EQ(host.await_end(),
            (Exit{.kind = ExitKind::lost, .clean = true, .text = "the host restarted"}));
}

TEST(Ending, a_shim_file_that_cannot_be_read_is_no_proof_of_a_restart) {
  Host host;
  const std::string word = start_with_one_that_stays(host);
  await_running(host);
  const Identity shim = host.shim();
  signal_one(host.guard(), SIGKILL);  // else it ends what is left
  std::ofstream(host.path(first_task, shim_file), std::ios::trunc) << "\xff";
  ::kill(shim.pid, SIGKILL);
  EXPECT_EQ(host.await_end(),
            (Exit{.kind = ExitKind::lost, .clean = true, .text = "its shim died"}));
  EXPECT_FALSE(anybody_runs(word));
}

TEST(Ending, a_process_whose_first_thread_has_ended_still_lives) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::thread([] { ::sleep(1000); }).detach();
    ::syscall(SYS_exit, 0);  // Of this thread alone.
  }
  ASSERT_TRUE(eventually([pid] {
    return contents("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
  }));
  const auto living = look_at(pid);
  ASSERT_TRUE(living);
  EXPECT_FALSE(living->zombie);
  signal_one(living->who, SIGKILL);
  EXPECT_TRUE(eventually([pid] { return look_at(pid)->zombie; }));
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(look_at(pid));
  EXPECT_FALSE(hold(living->who));
}

TEST(Ending, an_unclean_end_whose_shim_died_is_cleaned_up_by_the_agent) {
  Host host;
  const std::string word = start_with_one_that_stays(host);
  v1::ExitRecord record;
  record.mutable_exit()->set_kind(v1::EXITED);
  record.mutable_exit()->set_code(3);
  record.mutable_exit()->set_cause(v1::BY_ITSELF);
  const auto task = open_directory(host.path(first_task));
  ASSERT_TRUE(write_message(task->get(), exit_file, record, Lasting::process));
  EXPECT_FALSE(host.observe()->exit.clean);
  host.kill_shim_and_guard();
  EXPECT_EQ(host.await_end(), (Exit{.kind = ExitKind::exited, .code = 3, .clean = true}));
  EXPECT_FALSE(anybody_runs(word));
}

TEST(Ending, another_users_process_with_the_mark_is_left_alone) {
  if (!is_root()) GTEST_SKIP() << "needs a second user";
  const std::string mark = "9999999999999.9." + unique_word();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setenv("KEEL_TASK", mark.c_str(), 1);
    ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  EXPECT_TRUE(eventually([&] { return !find_living({.mark = mark, .uid = ::getuid()}).empty(); }));
  EXPECT_TRUE(find_living({.mark = mark, .uid = 14242}).empty());
  EXPECT_TRUE(find_living({.mark = mark.substr(1), .uid = ::getuid()}).empty());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace keel
