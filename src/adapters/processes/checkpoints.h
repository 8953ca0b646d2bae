// STATE/checkpoints/JOB: the same for every attempt of a job on this host, and gone with its last
// task here where nothing was written into it.
#pragma once

#include <mutex>
#include <string>

#include "adapters/processes/files.h"
#include "base/result.h"
#include "model/ids.h"
#include "model/job.h"

namespace keel {

class Checkpoints {
 public:
  // state, tasks  the agent's directories, kept open by the caller
  Checkpoints(int state, int tasks) : state_(state), tasks_(tasks) {}

  // Below STATE.
  static std::string place_of(JobId job);

  // Makes it where it is not there. Any thread.
  Result<Done, std::string> make(JobId job, const Owner& owner);

  // Removes that of a task which is about to be cleared away, where it is empty and the job has no
  // other task here. What is being prepared just now counts as one: its claim is there already.
  void forget_empty(const TaskKey& task);

 private:
  std::mutex mutex_;
  int state_;
  int tasks_;
};

}  // namespace keel
