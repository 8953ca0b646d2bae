// A host of its own for each test: a state directory, a place among the control groups, a runtime.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "adapters/processes/identity.h"
#include "adapters/processes/local_runtime.h"
#include "adapters/processes/task_files.h"
#include "keel/v1/local.pb.h"

namespace keel {

// For messages of failed tests.
inline void PrintTo(const Exit& exit, std::ostream* out) {
  *out << describe(exit) << ", kind " << static_cast<int>(exit.kind) << ", code " << exit.code
       << ", cause " << print(exit.cause) << (exit.clean ? ", clean" : ", not clean")
       << (exit.out_of_memory ? ", out of memory" : "") << ", text \"" << exit.text << "\"";
}

inline std::string new_directory() {
  std::string path = testing::TempDir() + "keel-XXXXXX";
  EXPECT_NE(::mkdtemp(path.data()), nullptr);
  EXPECT_EQ(::chmod(path.c_str(), 0711), 0);
  return path;
}

// As far as it can be read: what /proc tells of a process ends with an error once the process has.
inline std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

inline bool is_root() { return ::geteuid() == 0; }

// A user whom this host knows nothing of; ourselves where we cannot be anybody else.
inline Owner somebody() {
  if (is_root()) return {.user = "ana", .uid = 14242, .gid = 14243};
  return {.user = "ana", .uid = ::geteuid(), .gid = ::getegid()};
}

// Of this run alone: what is left of a lost task is looked for on the whole host, where other tests
// may run at the same time.
inline const TaskKey first_task{
    .job = JobId{static_cast<std::uint64_t>(::getpid())}, .attempt = AttemptNo{1}, .task = 0};

inline std::string unique_base() {
  static std::atomic<int> count;
  return "keel-test/" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

struct HostOptions {
  Bytes log_bytes_max = mebibytes(1);
  std::string state{};  // a new directory where it is not said
  std::string shim = PROGRAM_DIR "/keel-shim";
  std::string cgroup_root = "/sys/fs/cgroup";
  LogBounds logs_kept{};
};

class Host {
 public:
  using Options = HostOptions;

  explicit Host(const Options& options = Options())
      : place_{.state = options.state.empty() ? new_directory() : options.state,
               .shim = options.shim,
               .cgroup_base = unique_base(),
               .cgroup_root = options.cgroup_root,
               .log_bytes_max = options.log_bytes_max,
               .logs_kept = options.logs_kept} {
    restart();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Leaves nothing running, whatever the test did.
  ~Host() {
    for (const Observed& task : runtime_->observe({})) {
      runtime_->stop(task.key, StopCause::canceled);
      if (task.phase == Observed::Phase::starting || task.phase == Observed::Phase::running) {
        ::kill(shim(task.key).pid, SIGKILL);
      }
    }
    for (int i = 0; i < 100 && !runtime_->observe({}).empty(); ++i) {
      for (const Observed& task : runtime_->observe({})) runtime_->release(task.key);
      ::usleep(10'000);
    }
    runtime_->release(first_task);  // also where it could not be prepared
    (void)remove_tree(AT_FDCWD, place_.state);
  }

  // Whoever ends it restarts it before anything else is asked.
  void end_agent() { runtime_.reset(); }
  void restart() {
    end_agent();
    auto opened = LocalRuntime::open(place_);
    EXPECT_TRUE(opened) << opened.error();
    runtime_ = *std::move(opened);
  }

  LocalRuntime& runtime() { return *runtime_; }
  const RuntimePlace& place() const { return place_; }
  std::string path(const TaskKey& key, const std::string& name = "") const {
    return place_.state + "/tasks/" + print(key) + "/" + name;
  }

  // What /bin/sh is to run. Quick graces, so that tests are quick.
  PrepareOrder order(const std::string& script, const TaskKey& key = first_task) const {
    PrepareOrder order{.key = key, .spec = {}, .owner = somebody(), .env = {}};
    order.spec.program = "/bin/sh";
    order.spec.args = {"-c", script};
    order.spec.time_limit = hours(1);
    order.spec.grace = milliseconds(500);
    order.spec.stop_signal = SIGTERM;
    return order;
  }

  void start(const PrepareOrder& order, Instant lease = never) {
    const auto prepared = runtime_->prepare(order);
    ASSERT_TRUE(prepared) << prepared.error().text;
    const auto started = runtime_->start(order.key, lease);
    ASSERT_TRUE(started) << started.error().text;
  }

  std::optional<Observed> observe(const TaskKey& key = first_task) {
    for (const Observed& task : runtime_->observe({})) {
      if (task.key == key) return task;
    }
    return std::nullopt;
  }

  // Sleeps on the runtime's own descriptor, so a change that it does not announce shows as a delay.
  Exit await_end(const TaskKey& key = first_task, Duration patience = seconds(20)) {
    const Instant deadline = boot_now() + patience;
    while (boot_now() < deadline) {
      const auto task = observe(key);
      if (task && task->phase == Observed::Phase::ended && task->exit.clean) return task->exit;
      pollfd wait{runtime_->wake_fd(), POLLIN, 0};
      ::poll(&wait, 1, 2000);
    }
    ADD_FAILURE() << "the task does not end";
    return {.kind = ExitKind::lost, .text = "not ended"};
  }

  Exit run(const PrepareOrder& order) {
    start(order);
    return await_end(order.key);
  }

  // All of its output, as written: partial lines joined.
  std::string output(bool error = false, const TaskKey& key = first_task) {
    std::string text;
    std::int64_t at = 0;
    for (;;) {
      const auto part = runtime_->read_log(key, at, 1 << 20);
      if (!part) return "no log";
      for (const LogLine& line : part->lines) {
        if (line.error == error) text += line.text + (line.partial ? "" : "\n");
      }
      if (part->next == at) return text;
      at = part->next;
    }
  }

  v1::ShimIdentity shim_identity(const TaskKey& key = first_task) const {
    v1::ShimIdentity identity;
    const auto task = open_directory(path(key));
    if (task) read_message(task->get(), shim_file, identity);
    return identity;
  }
  Identity shim(const TaskKey& key = first_task) const {
    const auto identity = shim_identity(key);
    return {identity.pid(), identity.start_ticks()};
  }

  // Kills the shim and, before it, the guard that would end what the shim leaves: it is the agent's
  // to end then.
  void kill_shim_and_guard() const {
    const Identity keeper = shim();
    signal_one(guard(), SIGKILL);
    signal_one(keeper, SIGKILL);
  }
  // The shim's parent, looked for before anything is done to it.
  Identity guard() const {
    const auto living = look_at(shim().pid);
    const auto parent = living ? look_at(living->parent) : std::nullopt;
    const bool found =
        parent && contents("/proc/" + std::to_string(parent->who.pid) + "/comm") == "keel-guard\n";
    EXPECT_TRUE(found) << "the shim's parent is no guard";
    return found ? parent->who : Identity{};
  }

 private:
  RuntimePlace place_;
  std::unique_ptr<LocalRuntime> runtime_;
};

// Whether any process on this host has `word` among its arguments. Asked of /proc directly, not of
// the code under test.
inline bool anybody_runs(const std::string& word) {
  for (const Living& living : everybody()) {
    const std::string arguments = contents("/proc/" + std::to_string(living.who.pid) + "/cmdline");
    if (!living.zombie && living.who.pid != ::getpid() &&
        arguments.find(word) != std::string::npos) {
      return true;
    }
  }
  return false;
}

// Waits until `holds`, at most ten seconds.
template <class Condition>
bool eventually(Condition holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    ::usleep(10'000);
  }
  return false;
}

// An argument that no other process has.
inline std::string unique_word() {
  static std::atomic<int> count;
  return std::to_string(10'000'000 + ::getpid() * 100 + count++);
}

}  // namespace keel
