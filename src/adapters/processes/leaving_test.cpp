// What stays of a task when it is over: its outputs, whole, in their place or aside; its log; and
// nothing else.
#include <gmock/gmock.h>
#include <sys/stat.h>

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

TEST(Leaving, a_later_attempt_replaces_the_outputs_and_keeps_the_old_ones_aside) {
  Host host;
  host.run(host.order("echo 1 > $KEEL_OUTPUT_DIR/a"));
  ASSERT_TRUE(host.runtime().commit(first_task));
  const TaskKey again{first_task.job, AttemptNo{2}, 0};
  host.run(host.order("echo 2 > $KEEL_OUTPUT_DIR/b", again));
  ASSERT_TRUE(host.runtime().commit(again));
  EXPECT_THAT(names_at(committed(host) + "/task-0"), ElementsAre("b"));
  EXPECT_THAT(names_at(host.place().state + "/outputs-aside/" + print(again)), ElementsAre("a"));
}

TEST(Leaving, release_leaves_the_log_and_what_was_not_committed_aside) {
  Host host;
  host.run(
      host.order("echo hello; echo 1 > $KEEL_OUTPUT_DIR/late; mkdir -p a/b/c; touch a/b/c/d; "
                 "chmod 0 a/b; touch $TMPDIR/x"));
  for (int i = 0; i < 2; ++i) {
    host.runtime().release(first_task);
    EXPECT_THAT(names_at(host.path(first_task)), ElementsAre("exit", "log"));
    EXPECT_FALSE(host.observe());
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
  const TaskKey again{first_task.job, AttemptNo{2}, 0};
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
