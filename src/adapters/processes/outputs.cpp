#include "adapters/processes/outputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "adapters/processes/task_files.h"

namespace keel {
namespace {

constexpr const char* committed_directory = "outputs";
constexpr const char* aside_directory = "outputs-aside";

// Gives `name` in `from` a free name beside what else was set aside.
Result<Done, std::string> move_aside(int state, int from, const std::string& name,
                                     const TaskKey& key) {
  TRY(aside, make_directory(state, aside_directory, closed));
  constexpr int tries_max = 100;
  for (int i = 0; i < tries_max; ++i) {
    const std::string free = print(key) + (i == 0 ? "" : "-" + std::to_string(i));
    const unsigned new_name_only = RENAME_NOREPLACE;
    if (::renameat2(from, name.c_str(), aside.get(), free.c_str(), new_name_only) == 0) {
      return Done{};
    }
    if (errno != EEXIST) return failure(name);
  }
  return failure(name, EEXIST);
}

}  // namespace

Result<Done, std::string> commit_outputs(int state, int task, const TaskKey& key,
                                         const Owner& owner) {
  if (!exists(task, outputs_directory)) return Done{};
  TRY(staged, open_directory(task, outputs_directory));
  if (::syncfs(staged.get()) != 0) return failure(outputs_directory);
  TRY(all, make_directory(state, committed_directory, passable));
  TRY(job, make_directory(all.get(), print(key.job), {0700, owner.uid, owner.gid}));
  const std::string place = "task-" + std::to_string(key.task);
  if (::renameat2(task, outputs_directory, job.get(), place.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EEXIST) return failure(place);
    // Readers find the old ones or the new ones, never none.
    if (::renameat2(task, outputs_directory, job.get(), place.c_str(), RENAME_EXCHANGE) != 0) {
      return failure(place);
    }
    TRY(moved, move_aside(state, task, outputs_directory, key));
  }
  if (::fsync(job.get()) != 0 || ::fsync(all.get()) != 0 || ::fsync(task) != 0) {
    return failure(place);
  }
  return Done{};
}

Result<Done, std::string> set_outputs_aside(int state, int task, const TaskKey& key) {
  if (::unlinkat(task, outputs_directory, AT_REMOVEDIR) == 0 || errno == ENOENT) return Done{};
  return move_aside(state, task, outputs_directory, key);
}

}  // namespace keel
