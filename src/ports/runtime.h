// What an agent needs from its host to run tasks. Implemented by adapters/processes (real processes
// under keel-shim) and by the simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/spec.h"
#include "model/units.h"

namespace keel {

// The world said no; `text` is for people and goes into the job's record.
struct RuntimeError {
  std::string text{};
};

struct PrepareOrder {
  TaskKey key;
  JobSpec spec{};
  Owner owner{};
  // NAME, value: rendezvous, devices, KEEL_* and what the spec says, in that order of precedence.
  // The runtime adds what only the host knows: PATH HOME USER LOGNAME SHELL PWD TMPDIR
  // KEEL_OUTPUT_DIR KEEL_CHECKPOINT_DIR.
  std::vector<std::pair<std::string, std::string>> env{};
};

// One task as it is on the host now. Level-triggered: read again whenever anything may have
// changed.
struct Observed {
  enum class Phase : std::uint8_t {
    prepared,  // no shim has been started
    starting,  // a shim lives, its task is not running yet
    running,
    ended,  // `exit` is final, but for `exit.clean`, which may turn true later
  };
  TaskKey key;
  Phase phase{};
  Exit exit{};
};

struct StartedTask {
  TaskKey key;
  std::uint32_t uid{};  // whose processes its are
  bool ran{};           // it was seen to run, so it can no longer be merely prepared
};

// One line of a task's output.
struct LogLine {
  Instant at{};    // wall clock, microseconds since the Unix epoch: for people
  bool error{};    // from stderr
  bool partial{};  // the line goes on in the next one
  std::string text{};
};
struct LogPart {
  std::vector<LogLine> lines{};
  std::int64_t next{};  // offset behind the last line
  bool end{};           // the task has ended and nothing lies behind `next`
  bool dropped{};       // lines after `offset` were rotated away
  std::int64_t size{};  // of the whole log now, what was rotated away included
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Makes the task's directories, places its files (from `Files` of the same host), writes what the
  // shim is to run, makes its cgroups. Starts nothing. Repeating it is safe. Slow: any thread.
  virtual Result<Done, RuntimeError> prepare(const PrepareOrder& order) = 0;

  // Starts the shim of a prepared task, unless it was started before. The task may run until
  // `lease` (boot time). After an error either no shim has come and it may be asked again, or
  // observe() tells the end. Never blocks for long.
  virtual Result<Done, RuntimeError> start(const TaskKey& key, Instant lease) = 0;

  // Moves the lease of a started task.
  virtual void extend(const TaskKey& key, Instant lease) = 0;

  // Orders the shim to stop its task: signal, grace, kill. Durable; the first cause stays. What has
  // no records is killed. Repeating it is safe.
  virtual void stop(const TaskKey& key, StopCause cause) = 0;

  // Every task that was prepared and not released, and any other of which something may still run
  // here, in ascending order of key.
  //
  // started  what has begun here by the caller's records. One whose own records are gone is killed
  //          and told as ended, clean once nothing of it is left.
  virtual std::vector<Observed> observe(const std::vector<StartedTask>& started) = 0;

  // Puts the outputs of an ended task in place, whole or not at all. Repeating it is safe.
  virtual Result<Done, RuntimeError> commit(const TaskKey& key) = 0;

  // Removes a task that has no process: working directory and cgroups go, uncommitted outputs are
  // set aside, the log stays readable. Repeating it is safe.
  virtual void release(const TaskKey& key) = 0;

  // Lines from `offset` on, about `limit` bytes of them. Nothing where no such log is kept. Any
  // thread.
  virtual std::optional<LogPart> read_log(const TaskKey& key, std::int64_t offset,
                                          std::int64_t limit) = 0;
};

}  // namespace keel
