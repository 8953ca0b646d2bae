// Tasks as real processes of this host, each under a shim of its own that outlives the agent.
//
//   STATE/tasks/JOB.ATTEMPT.TASK/   one task; task_files.h names what is in it
//   STATE/checkpoints/JOB/          checkpoints.h
//   STATE/outputs…                  outputs.h
//   STATE/logs/                     kept_logs.h
//   STATE/files/                    file_cache.h
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/processes/cgroups.h"
#include "adapters/processes/checkpoints.h"
#include "adapters/processes/file_cache.h"
#include "adapters/processes/files.h"
#include "adapters/processes/kept_logs.h"
#include "adapters/processes/watch.h"
#include "ports/runtime.h"

namespace keel {

struct RuntimePlace {
  std::string state;  // made where it is not there; every user must be able to pass through it
  std::string shim;   // the program keel-shim
  std::string cgroup_base;  // "keel/NODE": unique among the agents of this host
  std::string cgroup_root = "/sys/fs/cgroup";
  Bytes log_bytes_max = mebibytes(64);  // of each task
  LogBounds logs_kept{};                // of tasks that are over
};

// One thread, but for prepare(), read_log() and files().
class LocalRuntime : public Runtime {
 public:
  static Result<std::unique_ptr<LocalRuntime>, std::string> open(const RuntimePlace& place);
  ~LocalRuntime() override { cgroups_.leave(); }

  Result<Done, RuntimeError> prepare(const PrepareOrder& order) override;
  Result<Done, RuntimeError> start(const TaskKey& key, Instant lease) override;
  void extend(const TaskKey& key, Instant lease) override;
  void stop(const TaskKey& key, StopCause cause) override;

  // A shim that died without a word takes its task along here: what is left of it is killed, and
  // its end is recorded as lost once nothing is. Until then each call tries again.
  std::vector<Observed> observe(const std::vector<StartedTask>& started) override;

  Result<Done, RuntimeError> commit(const TaskKey& key) override;
  void release(const TaskKey& key) override;
  std::optional<LogPart> read_log(const TaskKey& key, std::int64_t offset,
                                  std::int64_t limit) override;

  // For poll(): readable when a task has changed since the last observe().
  int wake_fd() const { return watch_.fd(); }

  // Where files that travel with jobs must lie before prepare().
  const FileCache& files() const { return files_; }

  // Tasks whose files a newer version wrote, as of the last observe(): "1a.1.0: its shim file was
  // written by a newer version". They are told as starting, whatever they do, and left alone: what
  // is not understood proves nothing.
  const std::vector<std::string>& not_understood() const { return not_understood_; }

  // What limits are not in force on this host: for its inventory.
  const std::vector<std::string>& warnings() const { return cgroups_.warnings(); }

 private:
  LocalRuntime(RuntimePlace place, Descriptor state, Descriptor tasks, FileCache files,
               KeptLogs logs, Watch watch, Cgroups cgroups);

  Result<Done, std::string> make_ready(const PrepareOrder& order);
  Result<Descriptor, std::string> open_task(const TaskKey& key) const;
  void put_away(const std::string& task, int directory);
  Observed look(const TaskKey& key, int task);
  Observed leave_alone(const TaskKey& key, const std::string& file);
  Observed bury(const TaskKey& key, int task, bool rebooted, Exit exit);
  void add_unrecorded(const std::vector<StartedTask>& started, std::vector<Observed>& all) const;
  void add_strays(std::vector<Observed>& all) const;
  bool may_release(int task) const;

  RuntimePlace place_;
  Descriptor state_;
  Descriptor tasks_;
  FileCache files_;
  Checkpoints checkpoints_;
  KeptLogs logs_;
  Watch watch_;
  Cgroups cgroups_;
  std::vector<Observed> seen_;  // by the last observe()
  std::vector<std::string> not_understood_;
};

}  // namespace keel
