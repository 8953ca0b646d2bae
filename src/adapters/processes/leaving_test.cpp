// What stays of a task when it is over: its outputs, whole, in their place or aside; its log; and
// nothing else.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_at(const std::string& path) {
  const auto directory = open_directory(path);
  return directory ? names_in(directory->get()) : std::vector<std::string>{"(nothing there)"};
}

std::string committed(const Host& host) {
  return host.place().state + "/outputs/" + print(first_task.job);
}

std::string kept(const Host& host, const TaskKey& key = first_task) {
  return host.place().state + "/logs/" + print(key);
}

TEST(Leaving, outputs_are_committed_whole_and_once) {
  Host host;
  host.run(
      host.order("mkdir $KEEL_OUTPUT_DIR/deep; echo 1 > $KEEL_OUTPUT_DIR/deep/model; "
                 "ln -s /etc/passwd $KEEL_OUTPUT_DIR/link"));
  for (int i = 0; i < 2; ++i) {
    const auto done = host.runtime().commit(first_task);
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_THAT(names_at(committed(host)), ElementsAre("task-0"));
    EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre("deep", "link"));
  }
  EXPECT_EQ(contents(committed(host) + "/task-0/deep/model"), "1\n");
  struct stat status {};
  ASSERT_EQ(::stat(committed(host).c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, somebody().uid);
  host.runtime().release(first_task);
  EXPECT_EQ(contents(committed(host) + "/task-0/deep/model"), "1\n");
}

TEST(Leaving, outputs_of_what_still_runs_are_not_committed) {
  Host host;
  host.start(host.order("echo 1 > $KEEL_OUTPUT_DIR/half; exec sleep 1000"));
  EXPECT_FALSE(host.runtime().commit(first_task));
  EXPECT_FALSE(host.runtime().commit({JobId{9}, AttemptNo{1}, 0}));
  EXPECT_THAT(names_at(host.place().state + "/outputs"), ElementsAre("(nothing there)"));
}

const TaskKey again{first_task.job, AttemptNo{2}, 0};

// The first attempt's outputs are in place: a. The second one has made its own: b.
void run_two_attempts(Host& host) {
  host.run(host.order("echo 1 > $KEEL_OUTPUT_DIR/a"));
  ASSERT_TRUE(host.runtime().commit(first_task));
  host.run(host.order("echo 2 > $KEEL_OUTPUT_DIR/b", again));
}

// The second attempt's outputs are named for the exchange that is to follow. The new name.
std::string begin_exchange(Host& host) {
  const std::string staged = host.path(again, outputs_directory);
  struct stat status {};
  EXPECT_EQ(::stat(staged.c_str(), &status), 0);
  const std::string begun = staged + "." + std::to_string(status.st_ino);
  EXPECT_EQ(::rename(staged.c_str(), begun.c_str()), 0);
  return begun;
}

TEST(Leaving, a_later_attempt_replaces_the_outputs_and_keeps_the_old_ones_aside) {
  Host host;
  run_two_attempts(host);
  ASSERT_TRUE(host.runtime().commit(again));
  EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre("b"));
  EXPECT_THAT(names_at(host.place().state + "/outputs-aside/" + print(again)), ElementsAre("a"));
}

// As a crash right after the exchange leaves them: the new outputs are in place, the old ones where
// the new ones were staged.
TEST(Leaving, outputs_are_not_swapped_back_after_a_crash_in_the_middle_of_their_commit) {
  Host host;
  run_two_attempts(host);
  const std::string begun = begin_exchange(host);
  ASSERT_EQ(::renameat2(AT_FDCWD, begun.c_str(), AT_FDCWD, (committed(host) + "/task-0").c_str(),
                        RENAME_EXCHANGE),
            0);
  for (int i = 0; i < 2; ++i) {
    const auto done = host.runtime().commit(again);
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre("b"));
    EXPECT_THAT(names_at(host.place().state + "/outputs-aside/" + print(again)), ElementsAre("a"));
  }
}

TEST(Leaving, outputs_whose_exchange_was_begun_and_not_done_are_exchanged) {
  for (const bool old_ones_are_there : {true, false}) {
    SCOPED_TRACE(old_ones_are_there);
    Host host;
    run_two_attempts(host);
    (void)begin_exchange(host);
    if (!old_ones_are_there) {
      ASSERT_TRUE(remove_tree(AT_FDCWD, committed(host) + "/task-0"));
    }
    const auto done = host.runtime().commit(again);
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre("b"));
    host.runtime().release(again);
    EXPECT_FALSE(host.observe(again)) << "and it can be cleared away";
  }
}

TEST(Leaving, what_was_begun_to_be_exchanged_is_set_aside_where_nobody_commits_it) {
  Host host;
  host.run(host.order("echo 1 > $KEEL_OUTPUT_DIR/a"));
  const std::string staged = host.path(first_task, outputs_directory);
  ASSERT_EQ(::rename(staged.c_str(), (staged + ".1").c_str()), 0);
  host.runtime().release(first_task);
  EXPECT_THAT(names_at(host.place().state + "/outputs-aside/" + print(first_task)),
              ElementsAre("a"));
}

TEST(Leaving, a_job_that_wrote_nothing_leaves_neither_outputs_nor_checkpoints) {
  Host host;
  host.run(host.order("exit 0"));
  const TaskKey second{first_task.job, AttemptNo{1}, 1};
  host.run(host.order("exit 0", second));
  for (const TaskKey& key : {first_task, second}) {
    ASSERT_TRUE(host.runtime().commit(key));
    ASSERT_TRUE(host.runtime().commit(key)) << "said twice";
  }
  EXPECT_THAT(names_at(host.place().state + "/outputs"), ElementsAre("(nothing there)"));
  const std::string checkpoints = host.place().state + "/checkpoints";
  host.runtime().release(first_task);
  EXPECT_THAT(names_at(checkpoints), ElementsAre(print(first_task.job))) << "the other task's too";
  host.runtime().release(second);
  EXPECT_THAT(names_at(checkpoints), ElementsAre());
}

TEST(Leaving, empty_outputs_replace_those_of_an_earlier_attempt) {
  Host host;
  host.run(host.order("echo 1 > $KEEL_OUTPUT_DIR/a"));
  ASSERT_TRUE(host.runtime().commit(first_task));
  host.run(host.order("exit 0", again));
  ASSERT_TRUE(host.runtime().commit(again));
  EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre());
}

TEST(Leaving, logs_are_kept_of_so_many_tasks_and_for_so_long) {
  struct Row {
    const char* name;
    LogBounds bounds;
    std::vector<std::uint32_t> kept;  // of tasks 0, 1, 2, which end in this order
  };
  const Row rows[] = {
      {"all", {}, {0, 1, 2}},
      {"two", {.tasks_max = 2}, {1, 2}},
      {"none", {.tasks_max = 0}, {}},
      {"few bytes", {.bytes_max = Bytes{9000}}, {1, 2}},
      {"a moment", {.span = Duration{1}}, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Host host({.logs_kept = row.bounds});
    for (const std::uint32_t task : {0U, 1U, 2U}) {
      const TaskKey key{first_task.job, AttemptNo{1}, task};
      host.run(host.order("printf '%4000s\n' x", key));
      host.runtime().release(key);
      (void)host.observe(key);
    }
    for (int round = 0; round < 2; ++round) {
      std::vector<std::uint32_t> kept;
      for (const std::uint32_t task : {0U, 1U, 2U}) {
        const auto log = host.runtime().read_log({first_task.job, AttemptNo{1}, task}, 0, 1000);
        if (!log) continue;
        EXPECT_TRUE(log->lines.size() == 1 && log->end);
        kept.push_back(task);
      }
      EXPECT_EQ(kept, row.kept);
      host.restart();  // which knows them again
      (void)host.observe();
    }
  }
}

TEST(Leaving, time_counts_anew_for_logs_of_an_earlier_boot) {
  Host host({.logs_kept = {.span = seconds(1000)}});
  host.run(host.order("echo x"));
  host.runtime().release(first_task);
  (void)host.observe();
  v1::ExitRecord record;
  const auto task = open_directory(kept(host));
  ASSERT_EQ(read_message(task->get(), exit_file, record), Reading::good);
  record.set_boot_id("of yesterday");
  record.set_ended_us(0);
  ASSERT_TRUE(write_message(task->get(), exit_file, record, Lasting::process));
  auto state = *open_directory(host.place().state);
  auto logs = KeptLogs::open(state.get(), {.span = seconds(1000)}, Instant{} + seconds(5000));
  ASSERT_TRUE(logs);
  logs->prune(Instant{} + seconds(6000));
  EXPECT_TRUE(logs->has(print(first_task)));
  logs->prune(Instant{} + seconds(6001));
  EXPECT_FALSE(logs->has(print(first_task)));
}

TEST(Leaving, release_leaves_the_log_and_what_was_not_committed_aside) {
  Host host;
  host.run(
      host.order("echo hello; echo 1 > $KEEL_OUTPUT_DIR/late; mkdir -p a/b/c; touch a/b/c/d; "
                 "chmod 0 a/b; touch $TMPDIR/x"));
  for (int i = 0; i < 2; ++i) {
    host.runtime().release(first_task);
    EXPECT_FALSE(host.observe());
    EXPECT_THAT(names_at(kept(host)), ElementsAre("exit", "log"));
    EXPECT_FALSE(exists(AT_FDCWD, host.path(first_task)));
  }
  EXPECT_THAT(names_at(host.place().state + "/outputs-aside/" + print(first_task)),
              ElementsAre("late"));
  EXPECT_EQ(host.output(), "hello\n");
  EXPECT_TRUE(host.runtime().read_log(first_task, 0, 1000)->end);
  for (const char* hierarchy : {"/memory/", "/pids/", "/cpu/", "/unified/"}) {
    const std::string group = host.place().cgroup_root + hierarchy + host.place().cgroup_base;
    EXPECT_FALSE(exists(AT_FDCWD, group + "/" + print(first_task))) << group;
  }
  EXPECT_FALSE(host.runtime().prepare(host.order("true"))) << "what was is not begun again";
}

TEST(Leaving, a_task_that_was_never_started_leaves_nothing) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("true")));
  host.runtime().release(first_task);
  EXPECT_FALSE(exists(AT_FDCWD, host.path(first_task)));
  EXPECT_FALSE(host.runtime().read_log(first_task, 0, 1000));
  EXPECT_FALSE(host.runtime().start(first_task, never));
  ASSERT_TRUE(host.runtime().prepare(host.order("exit 8"))) << "it may be prepared anew";
  ASSERT_TRUE(host.runtime().start(first_task, never));
  EXPECT_EQ(host.await_end().code, 8);
}

TEST(Leaving, what_a_crash_left_of_a_claim_that_was_never_made_is_cleared_away) {
  Host host;
  const TaskKey other{first_task.job, AttemptNo{7}, 0};
  for (const TaskKey& key : {first_task, other}) {
    ASSERT_EQ(::mkdir(host.path(key).c_str(), 0711), 0);
    std::ofstream(host.path(key, ".claim.new")) << "half a cl";
  }
  std::ofstream(host.path(other, claim_file)) << "whole";
  EXPECT_FALSE(host.observe());
  EXPECT_THAT(names_at(host.place().state + "/tasks"), ElementsAre(print(other)));
}

TEST(Leaving, what_runs_is_not_released) {
  Host host;
  host.start(host.order("exec sleep 1000"));
  host.runtime().release(first_task);
  EXPECT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  EXPECT_TRUE(exists(AT_FDCWD, host.path(first_task, work_directory)));
}

TEST(Leaving, links_lead_nobody_out_of_the_tasks_directories) {
  Host host;
  const std::string outside = new_directory();
  ASSERT_EQ(::chmod(outside.c_str(), 0777), 0);
  std::ofstream(outside + "/precious") << "x";
  host.run(host.order("ln -s " + outside + " out; ln -s " + outside +
                      " $KEEL_OUTPUT_DIR/out; "
                      "rmdir $KEEL_CHECKPOINT_DIR; ln -s " +
                      outside +
                      " $KEEL_CHECKPOINT_DIR; "
                      "cd $TMPDIR; ln -s " +
                      outside + "/precious a"));
  host.runtime().release(first_task);
  EXPECT_EQ(contents(outside + "/precious"), "x");
  struct stat status {};
  ASSERT_EQ(::stat((outside + "/precious").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, ::geteuid());
  (void)remove_tree(AT_FDCWD, outside);
}

TEST(Leaving, a_very_deep_tree_is_removed) {
  const std::string top = new_directory();
  ASSERT_EQ(::mkdir((top + "/tree").c_str(), 0700), 0);
  Descriptor at = *open_directory(top + "/tree");
  for (int depth = 0; depth < 3000; ++depth) at = *make_directory(at.get(), "d", closed);
  std::ofstream(top + "/tree/file") << "x";
  const auto removed = remove_tree(AT_FDCWD, top);
  EXPECT_TRUE(removed) << removed.error();
  EXPECT_FALSE(exists(AT_FDCWD, top));
  EXPECT_TRUE(remove_tree(AT_FDCWD, top)) << "what is not there is removed already";
}

TEST(Leaving, the_log_cannot_be_touched_by_the_task) {
  if (!is_root()) GTEST_SKIP() << "only a second user can be kept out";
  Host host;
  host.run(
      host.order("ls ../log 2>&1 | tail -c 18; ln -s /etc/passwd ../log/x; "
                 "mv ../log ../gone; rm -rf ../exit ../launch; cat ../launch"));
  EXPECT_EQ(host.output(), "Permission denied\n");
  EXPECT_THAT(host.output(true), HasSubstr("Permission denied"));
}

TEST(Leaving, checkpoints_stay_for_the_next_attempt) {
  Host host;
  host.run(host.order("echo 17 > $KEEL_CHECKPOINT_DIR/step"));
  host.runtime().release(first_task);
  host.run(host.order("cat $KEEL_CHECKPOINT_DIR/step", again));
  EXPECT_EQ(host.output(false, again), "17\n");
}

TEST(Leaving, whoever_guesses_the_names_of_a_removal_does_not_stop_it) {
  const std::string top = new_directory();
  const auto run = [&](const std::string& script) {
    return std::system(("cd " + top + " && " + script).c_str());
  };
  ASSERT_EQ(run("mkdir -p .keel-removed-0/y/z a/b/c '!/b' && touch .keel-removed-1"), 0);
  const auto removed = remove_tree(AT_FDCWD, top);
  EXPECT_TRUE(removed) << removed.error();
  EXPECT_FALSE(exists(AT_FDCWD, top));
}

}  // namespace
}  // namespace keel
