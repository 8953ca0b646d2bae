// Files of a newer version: refused, said, and left as they are, with the task that they are of.
#include <gmock/gmock.h>

#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Makes a file one of the next version, with a field that this one does not know. Gives its bytes.
template <class Message>
std::string make_newer(const Host& host, const char* name) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(contents(host.path(first_task, name))));
  message.set_format(local_format + 1);
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(2000, 7);
  const std::string bytes = message.SerializeAsString();
  std::ofstream(host.path(first_task, name), std::ios::trunc) << bytes;
  return bytes;
}

bool lives(pid_t pid) {
  const auto living = look_at(pid);
  return living && !living->zombie;
}

TEST(Versions, a_running_task_whose_shim_is_newer_is_left_alone) {
  Host host;
  host.start(host.order("echo ready; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  const std::string path = host.path(first_task, shim_file);
  const std::string before = contents(path);
  const pid_t task = host.shim_identity().task_pid();
  const std::string newer = make_newer<v1::ShimIdentity>(host, shim_file);
  host.restart();
  const std::vector<StartedTask> started{{first_task, somebody().uid, true}};
  for (int i = 0; i < 3; ++i) {
    const auto seen = host.runtime().observe(started);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].phase, Observed::Phase::starting) << "which tells the agent nothing new";
    EXPECT_THAT(host.runtime().not_understood(),
                ElementsAre(HasSubstr("its shim file was written by a newer version")));
  }
  host.runtime().release(first_task);
  EXPECT_TRUE(lives(task));
  EXPECT_EQ(contents(path), newer);
  std::ofstream(path, std::ios::trunc) << before;  // the newer agent is back
  EXPECT_EQ(host.observe()->phase, Observed::Phase::running);
  EXPECT_THAT(host.runtime().not_understood(), ElementsAre());
}

// With no lock held it might be dead, or guard itself in another way: nobody here can know.
TEST(Versions, a_newer_task_whose_shim_seems_dead_is_not_declared_lost) {
  for (const char* name : {shim_file, launch_file}) {
    SCOPED_TRACE(name);
    Host host;
    const std::string word = unique_word();
    host.start(host.order("(setsid sleep " + word + " &) ; exec sleep 1000"));
    ASSERT_TRUE(eventually([&] { return anybody_runs(word); }));
    const std::string path = host.path(first_task, name);
    const Identity shim = host.shim();
    const Identity guard = host.guard();
    const std::string before = contents(path);
    if (name == shim_file) make_newer<v1::ShimIdentity>(host, name);
    if (name == launch_file) make_newer<v1::Launch>(host, name);
    signal_one(guard, SIGKILL);  // else it ends what is left
    signal_one(shim, SIGKILL);
    const Descriptor task = *open_directory(host.path(first_task));
    ASSERT_TRUE(eventually([&] { return !is_locked(task.get()); }));
    EXPECT_EQ(host.observe()->phase, Observed::Phase::starting);
    EXPECT_TRUE(anybody_runs(word)) << "nobody of it is killed";
    EXPECT_FALSE(exists(task.get(), exit_file));
    std::ofstream(path, std::ios::trunc) << before;
    EXPECT_EQ(host.await_end().kind, ExitKind::lost);
    EXPECT_FALSE(anybody_runs(word));
  }
}

TEST(Versions, a_newer_exit_record_is_neither_read_nor_replaced) {
  Host host;
  host.run(host.order("exit 5"));
  const std::string newer = make_newer<v1::ExitRecord>(host, exit_file);
  EXPECT_EQ(host.observe()->phase, Observed::Phase::starting);
  EXPECT_FALSE(host.runtime().commit(first_task));
  host.runtime().release(first_task);
  EXPECT_EQ(contents(host.path(first_task, exit_file)), newer);
  v1::ExitRecord record;
  ASSERT_TRUE(record.ParseFromString(newer));
  ASSERT_TRUE(write_message(open_directory(host.path(first_task))->get(), exit_file, record,
                            Lasting::process));
  EXPECT_EQ(host.await_end().code, 5);
}

TEST(Versions, a_shim_does_not_touch_a_task_that_a_newer_agent_prepared) {
  Host host;
  ASSERT_TRUE(host.runtime().prepare(host.order("exit 0")));
  const std::string newer = make_newer<v1::Launch>(host, launch_file);
  const std::string command = PROGRAM_DIR "/keel-shim " + host.path(first_task);
  FILE* const output = ::popen(command.c_str(), "r");
  char line[200] = "";
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  ::pclose(output);
  EXPECT_THAT(line, HasSubstr("launch was written by a newer version"));
  EXPECT_EQ(contents(host.path(first_task, launch_file)), newer);
  EXPECT_FALSE(exists(AT_FDCWD, host.path(first_task, shim_file)));
}

}  // namespace
}  // namespace keel
