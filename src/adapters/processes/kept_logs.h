// What stays of a task that is over: its log and its exit record, for a while.
//
//   STATE/logs/JOB.ATTEMPT.TASK/   exit and log/, moved here when the task was cleared away
#pragma once

#include <set>
#include <string>

#include "adapters/processes/files.h"
#include "base/result.h"
#include "model/units.h"

namespace keel {

// Beyond any of these the oldest go. Time counts from the task's end while the host is up: after a
// restart of the host it begins anew, and no jump of the wall clock changes it.
struct LogBounds {
  std::size_t tasks_max = 1000;
  Bytes bytes_max = gibibytes(16);
  Duration span = hours(24 * 7);
};

// One thread, but for open_task().
class KeptLogs {
 public:
  // state  the agent's directory
  // now    boot time
  static Result<KeptLogs, std::string> open(int state, const LogBounds& bounds, Instant now);

  // The directory of a task whose log is kept here. Any thread.
  Result<Descriptor, std::string> open_task(const std::string& task) const;
  bool has(const std::string& task) const;

  // Takes over what stays of a task that was cleared away, a directory in `tasks`, in one step.
  Result<Done, std::string> take(int tasks, const std::string& task);

  // Removes what is beyond the bounds, a few tasks at most: to be asked again.
  void prune(Instant now);

 private:
  struct Entry {
    bool this_boot{};
    Instant ended;  // boot time, of its own boot
    std::string task;
    std::int64_t bytes{};
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  KeptLogs(Descriptor logs, const LogBounds& bounds, Instant opened)
      : logs_(std::move(logs)), bounds_(bounds), opened_(opened) {}

  void add(const std::string& task);
  bool is_beyond(const Entry& oldest, Instant now) const;

  Descriptor logs_;
  LogBounds bounds_;
  Instant opened_;
  std::set<Entry> entries_;  // oldest first
  std::int64_t bytes_{};     // of all of them
};

}  // namespace keel
