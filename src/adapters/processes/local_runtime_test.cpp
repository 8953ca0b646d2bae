// What a task finds when it runs, and what is known of it afterwards. Real processes under the real
// shim.
#include "adapters/processes/local_runtime.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "adapters/processes/test_host.h"
#include "wire/spec.h"

namespace keel {
namespace {

using testing::HasSubstr;

TEST(LocalRuntime, a_task_runs_and_its_end_and_output_are_known) {
  Host host;
  const Exit exit = host.run(host.order("echo hello; echo oops >&2; exit 3"));
  EXPECT_EQ(exit, (Exit{.kind = ExitKind::exited, .code = 3, .clean = true}));
  EXPECT_EQ(host.output(), "hello\n");
  EXPECT_EQ(host.output(true), "oops\n");
  const auto log = host.runtime().read_log(first_task, 0, 1 << 20);
  EXPECT_TRUE(log->end);
}

TEST(LocalRuntime, phases_follow_each_other) {
  Host host;
  EXPECT_FALSE(host.observe());
  const PrepareOrder order = host.order("exec sleep 100");
  ASSERT_TRUE(host.runtime().prepare(order));
  EXPECT_EQ(host.observe()->phase, Observed::Phase::prepared);
  ASSERT_TRUE(host.runtime().start(first_task, never));
  EXPECT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  EXPECT_FALSE(host.runtime().read_log(first_task, 0, 1000)->end);
  host.runtime().stop(first_task, StopCause::canceled);
  const Exit exit = host.await_end();
  EXPECT_EQ(exit, (Exit{.kind = ExitKind::signaled,
                        .code = SIGTERM,
                        .cause = StopCause::canceled,
                        .clean = true}));
}

TEST(LocalRuntime, its_descriptor_wakes_for_what_others_do_and_not_for_what_it_does_itself) {
  Host host;
  const auto wakes = [&](int patience_ms) {
    pollfd wait{host.runtime().wake_fd(), POLLIN, 0};
    return ::poll(&wait, 1, patience_ms) == 1;
  };
  host.start(host.order("exec sleep 1000"));
  while (host.observe()->phase != Observed::Phase::running) ASSERT_TRUE(wakes(10'000));
  EXPECT_FALSE(wakes(0)) << "nothing has changed since";
  host.runtime().extend(first_task, never);
  EXPECT_FALSE(wakes(50));
  ::kill(host.shim_identity().task_pid(), SIGKILL);
  while (host.observe()->phase != Observed::Phase::ended) ASSERT_TRUE(wakes(10'000));
  EXPECT_TRUE(eventually([&] { return !is_locked(open_directory(host.path(first_task))->get()); }));
  host.observe();
  EXPECT_FALSE(wakes(50)) << "an end is told once";
}

// B-E15
TEST(LocalRuntime, tasks_that_end_in_one_instant_are_all_seen_to_end_by_a_look) {
  Host host;
  constexpr std::uint32_t tasks = 24;
  const std::string pipe = host.place().state + "/gate";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(pipe.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(host.place().state.c_str(), 0711), 0);
  const int gate = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  std::vector<TaskKey> keys;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    keys.push_back({first_task.job, first_task.attempt, i});
    host.start(host.order("cat " + pipe + " > /dev/null; exit " + std::to_string(i), keys.back()));
  }
  const auto count = [&](Observed::Phase phase) {
    return std::ranges::count(host.runtime().observe({}), phase, &Observed::phase);
  };
  ASSERT_TRUE(eventually([&] { return count(Observed::Phase::running) == tasks; }));
  ::close(gate);  // the last writer is gone: each reads the end
  // Nobody looks while they end, so most of what is announced is announced together.
  ASSERT_TRUE(eventually([&] { return !anybody_runs(pipe); }));
  for (std::uint32_t i = 0; i < tasks; ++i) {
    EXPECT_EQ(
        host.await_end(keys[i]),
        (Exit{.kind = ExitKind::exited, .code = static_cast<std::int32_t>(i), .clean = true}));
  }
}

TEST(LocalRuntime, success_and_death_by_signal_are_told_apart) {
  Host host;
  EXPECT_EQ(host.run(host.order("exit 0")),
            (Exit{.kind = ExitKind::exited, .code = 0, .clean = true}));
  const TaskKey second{first_task.job, AttemptNo{1}, 1};
  EXPECT_EQ(host.run(host.order("kill -SEGV $$", second)),
            (Exit{.kind = ExitKind::signaled, .code = SIGSEGV, .clean = true}));
}

TEST(LocalRuntime, the_environment_is_what_was_ordered_and_nothing_else) {
  ASSERT_EQ(::setenv("OF_THE_AGENT", "secret", 1), 0);
  Host host;
  PrepareOrder order = host.order("");
  order.spec.program = "env";
  order.spec.args = {};
  order.env = {{"RANK", "0"},
               {"RANK", "7"},
               {"GREETING", "hello  there"},
               {"PATH", "/usr/bin"},
               {"KEEL_TASK", "forged"}};
  host.run(order);
  const std::string task = print(first_task);
  const std::string directory = host.path(first_task);
  const std::string home = directory + "work";
  EXPECT_EQ(host.output(),
            "GREETING=hello  there\n"
            "HOME=" +
                home +
                "\n"
                "KEEL_CHECKPOINT_DIR=" +
                host.place().state + "/checkpoints/" + print(first_task.job) +
                "\n"
                "KEEL_OUTPUT_DIR=" +
                directory +
                "outputs\n"
                "KEEL_TASK=" +
                task +
                "\n"
                "LOGNAME=ana\n"
                "PATH=/usr/bin\n"
                "PWD=" +
                home +
                "\n"
                "RANK=0\n"
                "SHELL=/bin/sh\n"
                "TMPDIR=" +
                directory +
                "tmp\n"
                "USER=ana\n");
}

TEST(LocalRuntime, only_three_descriptors_are_open_and_the_first_is_empty) {
  const Descriptor inheritable(::open("/dev/null", O_RDONLY));
  Host host;
  host.run(host.order("ls /proc/self/fd; wc -c"));
  // The 3 is what ls reads the directory with.
  EXPECT_EQ(host.output(), "0\n1\n2\n3\n0\n");
}

TEST(LocalRuntime, stdout_can_be_opened_again_by_its_name) {
  Host host;
  host.run(host.order("echo one > /dev/stdout; echo two > /dev/stderr"));
  EXPECT_EQ(host.output(), "one\n");
  EXPECT_EQ(host.output(true), "two\n");
}

TEST(LocalRuntime, a_task_has_the_ids_of_its_owner_and_no_others) {
  if (!is_root()) GTEST_SKIP() << "only root can become somebody else";
  Host host;
  host.run(
      host.order("grep -E '^(Uid|Gid|Groups|NoNewPrivs|CapEff|SigBlk|SigIgn)' "
                 "/proc/self/status; ulimit -c; umask"));
  EXPECT_EQ(host.output(),
            "Uid:\t14242\t14242\t14242\t14242\n"
            "Gid:\t14243\t14243\t14243\t14243\n"
            "Groups:\t14243 \n"
            "SigBlk:\t0000000000000000\n"
            "SigIgn:\t0000000000000000\n"
            "CapEff:\t0000000000000000\n"
            "NoNewPrivs:\t1\n"
            "0\n0022\n");
}

TEST(LocalRuntime, a_user_whom_the_host_knows_gets_home_and_groups) {
  if (!is_root()) GTEST_SKIP() << "only root can become somebody else";
  Host host;
  PrepareOrder order = host.order("echo $HOME $USER $LOGNAME; id -u; id -G");
  order.owner = {.user = "somebody-else", .uid = 1, .gid = 1};  // "daemon" on every Debian
  host.run(order);
  EXPECT_EQ(host.output(), "/usr/sbin daemon daemon\n1\n1\n");
}

TEST(LocalRuntime, nobody_is_run_as_minus_one) {
  Host host;
  PrepareOrder order = host.order("id -u");
  order.owner.uid = static_cast<std::uint32_t>(-1);
  EXPECT_FALSE(host.runtime().prepare(order));
  if (is_root()) return;
  order.owner.uid = ::geteuid() + 1;
  const auto refused = host.runtime().prepare(order);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("cannot run a job of uid"));
}

TEST(LocalRuntime, its_files_are_its_own_copies) {
  Host host;
  const std::string bytes = "#!/bin/sh\nstat -c '%u %a' \"$0\"; ls; cat data/in/x\n";
  const Digest program = sha256(bytes);
  const Digest text = sha256("words\n");
  ASSERT_TRUE(host.runtime().files().put(program, bytes));
  ASSERT_TRUE(host.runtime().files().put(text, "words\n"));
  PrepareOrder order = host.order("");
  order.spec.program = "./train";
  order.spec.args = {};
  order.spec.files = {{"data/in/x", text, false}, {"train", program, true}};
  host.run(order);
  EXPECT_EQ(host.output(), std::to_string(somebody().uid) + " 755\ndata\ntrain\nwords\n");
}

TEST(LocalRuntime, files_that_lead_elsewhere_or_are_missing_are_refused) {
  Host host;
  const Digest text = sha256("words\n");
  ASSERT_TRUE(host.runtime().files().put(text, "words\n"));
  EXPECT_FALSE(host.runtime().files().put(text, "other words\n"));
  for (const char* path : {"../x", "/x", "a/../../x", "a//x", "", "."}) {
    SCOPED_TRACE(path);
    PrepareOrder order = host.order("true");
    order.spec.files = {{path, text, false}};
    EXPECT_FALSE(host.runtime().prepare(order));
  }
  PrepareOrder order = host.order("true");
  order.spec.files = {{"x", sha256("never fetched"), false}};
  EXPECT_FALSE(host.runtime().prepare(order));
  EXPECT_FALSE(host.observe()) << "nothing of this is prepared";
}

TEST(LocalRuntime, a_cached_file_that_went_bad_is_not_run_but_fetched_again) {
  Host host;
  const Digest text = sha256("words\n");
  ASSERT_TRUE(host.runtime().files().put(text, "words\n"));
  std::ofstream(host.place().state + "/files/" + print(text)) << "rubbish";
  PrepareOrder order = host.order("true");
  order.spec.files = {{"x", text, false}};
  EXPECT_FALSE(host.runtime().prepare(order));
  EXPECT_FALSE(host.runtime().files().has(text));
}

TEST(LocalRuntime, a_program_that_cannot_be_started_says_why) {
  struct Row {
    const char* program;
    const char* text;
  };
  const Row rows[] = {
      {"/no/such", "program: /no/such: No such file or directory"},
      {"no-such-thing", "program: no-such-thing: No such file or directory"},
      {"./no-such-thing", "program: ./no-such-thing: No such file or directory"},
      {"/etc/passwd", "program: /etc/passwd: Permission denied"},
      {"./odd", "program: ./odd: the interpreter that it names does not exist"},
  };
  Host host;
  const std::string odd = "#!/no/such/interpreter\n";
  ASSERT_TRUE(host.runtime().files().put(sha256(odd), odd));
  std::uint32_t task = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.program);
    PrepareOrder order = host.order("", {first_task.job, AttemptNo{1}, task++});
    order.spec.program = row.program;
    order.spec.files = {{"odd", sha256(odd), true}};
    EXPECT_EQ(host.run(order),
              (Exit{.kind = ExitKind::not_started, .clean = true, .text = row.text}));
  }
}

TEST(LocalRuntime, a_bare_name_is_looked_for_in_the_tasks_own_path) {
  Host host;
  const std::string bytes = "#!/bin/sh\necho mine\n";
  ASSERT_TRUE(host.runtime().files().put(sha256(bytes), bytes));
  PrepareOrder order = host.order("");
  order.spec.program = "greet";
  order.spec.args = {};
  order.spec.files = {{"bin/greet", sha256(bytes), true}};
  order.env = {{"PATH", "/no/such:/etc/passwd:" + host.path(first_task, "work/bin")}};
  host.run(order);
  EXPECT_EQ(host.output(), "mine\n");
}

TEST(LocalRuntime, prepare_and_start_may_be_repeated) {
  Host host;
  const PrepareOrder order = host.order("echo once; exec sleep 100");
  for (int i = 0; i < 3; ++i) host.start(order);
  EXPECT_TRUE(eventually([&] { return host.output() == "once\n"; }));
  const Identity shim = host.shim();
  host.start(order);
  EXPECT_EQ(host.shim(), shim);
  host.runtime().stop(first_task, StopCause::canceled);
  host.await_end();
  EXPECT_TRUE(host.runtime().start(first_task, never));
  EXPECT_EQ(host.output(), "once\n");
  EXPECT_FALSE(host.runtime().prepare(order)) << "what has ended is not prepared again";
}

TEST(LocalRuntime, what_is_not_prepared_is_not_started) {
  Host host;
  EXPECT_FALSE(host.runtime().start(first_task, never));
  host.runtime().stop(first_task, StopCause::canceled);
  host.runtime().extend(first_task, never);
  host.runtime().release(first_task);
  EXPECT_FALSE(host.runtime().read_log(first_task, 0, 100));
  EXPECT_FALSE(host.observe());
}

TEST(LocalRuntime, a_launch_file_that_cannot_be_trusted_is_refused_and_left_alone) {
  struct Row {
    const char* name;
    std::string bytes;
    const char* text;
  };
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("true")));
  const std::string good = contents(host.path(first_task, launch_file));
  v1::Launch launch;
  ASSERT_TRUE(launch.ParseFromString(good));
  launch.set_format(2);
  const Row rows[] = {
      {"newer", launch.SerializeAsString(), "launch was written by a newer version"},
      {"rubbish", "\xff\xff\xff", "launch is damaged"},
      {"empty", "", "launch is damaged"},
      {"cut off before the uid", good.substr(0, good.find(host.place().state)), "is damaged"},
      {"cut off at the end", good.substr(0, good.size() - 4), "launch is damaged"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Host other;
    ASSERT_TRUE(other.runtime().prepare(other.order("true")));
    const std::string path = other.path(first_task, launch_file);
    std::ofstream(path, std::ios::trunc) << row.bytes;
    const auto started = other.runtime().start(first_task, never);
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().text, HasSubstr(row.text));
    EXPECT_EQ(contents(path), row.bytes);
    EXPECT_EQ(other.await_end().kind, ExitKind::lost);
  }
}

TEST(LocalRuntime, a_launch_file_for_root_does_not_fit_a_users_directory) {
  if (!is_root()) GTEST_SKIP() << "only root can become root";
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("id -u")));
  v1::Launch launch;
  ASSERT_TRUE(launch.ParseFromString(contents(host.path(first_task, launch_file))));
  launch.set_uid(0);
  std::ofstream(host.path(first_task, launch_file), std::ios::trunc) << launch.SerializeAsString();
  const auto started = host.runtime().start(first_task, never);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().text, HasSubstr("does not belong to the task's user"));
}

TEST(LocalRuntime, a_second_shim_for_one_task_touches_nothing) {
  Host host;
  host.start(host.order("exec sleep 100"));
  ASSERT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  const std::string before = contents(host.path(first_task, shim_file));
  const std::string command =
      host.place().shim + " " + host.path(first_task) + " > " + host.place().state + "/answer";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(eventually([&] { return !contents(host.place().state + "/answer").empty(); }));
  EXPECT_THAT(contents(host.place().state + "/answer"), HasSubstr("lock"));
  EXPECT_EQ(contents(host.path(first_task, shim_file)), before);
  EXPECT_EQ(host.observe()->phase, Observed::Phase::running);
}

}  // namespace
}  // namespace keel
