#include "adapters/processes/checkpoints.h"

#include <fcntl.h>
#include <unistd.h>

#include "adapters/processes/task_files.h"

namespace keel {
namespace {

constexpr const char* all_checkpoints = "checkpoints";

}  // namespace

std::string Checkpoints::place_of(JobId job) {
  return std::string(all_checkpoints) + "/" + print(job);
}

Result<Done, std::string> Checkpoints::make(JobId job, const Owner& owner) {
  const std::lock_guard lock(mutex_);
  TRY(all, make_directory(state_, all_checkpoints, passable));
  TRY(made, make_directory(all.get(), print(job), {0700, owner.uid, owner.gid}));
  return Done{};
}

void Checkpoints::forget_empty(const TaskKey& task) {
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names_in(tasks_)) {
    if (name == print(task) || !name.starts_with(print(task.job) + ".")) continue;
    const auto other = open_directory(tasks_, name);
    if (!other || exists(other->get(), launch_file) || exists(other->get(), claim_file)) return;
  }
  ::unlinkat(state_, place_of(task.job).c_str(), AT_REMOVEDIR);  // Fails while something is in it.
}

}  // namespace keel
