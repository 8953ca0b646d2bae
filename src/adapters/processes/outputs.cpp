#include "adapters/processes/outputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>

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

// A staged directory that is about to be exchanged with one in place carries its own number in its
// name: whoever finds another directory under that name, after a crash, knows that it was done.
constexpr std::string_view exchanging = "outputs.";

std::string number_of(int parent, const std::string& name) {
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return std::to_string(status.st_ino);
}

// "outputs.1234", where an exchange was begun.
std::optional<std::string> begun_in(int task) {
  for (const std::string& name : names_in(task)) {
    if (name.starts_with(exchanging)) return name;
  }
  return std::nullopt;
}

Result<Done, std::string> begin_exchange(int task) {
  const std::string name = std::string(exchanging) + number_of(task, outputs_directory);
  if (::renameat(task, outputs_directory, task, name.c_str()) != 0 || ::fsync(task) != 0) {
    return failure(outputs_directory);
  }
  return Done{};
}

// Readers find the old outputs or the new ones, never none.
Result<Done, std::string> exchange(int task, const std::string& begun, int job,
                                   const std::string& place) {
  const auto rename = [&](unsigned how) {
    return ::renameat2(task, begun.c_str(), job, place.c_str(), how) == 0;
  };
  const bool is_done = begun != std::string(exchanging) + number_of(task, begun);
  // The old ones are their owner's, who may have removed them meanwhile.
  if (!is_done && !rename(RENAME_EXCHANGE) && !(errno == ENOENT && rename(RENAME_NOREPLACE))) {
    return failure(place);
  }
  if (::fsync(job) != 0 || ::fsync(task) != 0) return failure(place);
  return Done{};
}

}  // namespace

Result<Done, std::string> commit_outputs(int state, int task, const TaskKey& key,
                                         const Owner& owner) {
  auto begun = begun_in(task);
  if (!begun && !exists(task, outputs_directory)) return Done{};
  TRY(staged, open_directory(task, begun ? *begun : outputs_directory));
  const std::string place = "task-" + std::to_string(key.task);
  const std::string job_name = print(key.job);
  const bool replaces = exists(state, committed_directory + ("/" + job_name + "/" + place));
  // Nothing is the outcome of most jobs, and need not be kept.
  if (!replaces && ::unlinkat(task, outputs_directory, AT_REMOVEDIR) == 0) return Done{};
  if (::syncfs(staged.get()) != 0) return failure(outputs_directory);
  TRY(all, make_directory(state, committed_directory, passable));
  TRY(job, make_directory(all.get(), job_name, {0700, owner.uid, owner.gid}));
  if (!begun &&
      ::renameat2(task, outputs_directory, job.get(), place.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EEXIST) return failure(place);
    TRY(renamed, begin_exchange(task));
    begun = begun_in(task);
  }
  if (begun) {
    TRY(done, exchange(task, *begun, job.get(), place));
    if (exists(task, *begun)) {
      TRY(moved, move_aside(state, task, *begun, key));
    }
  }
  if (::fsync(job.get()) != 0 || ::fsync(all.get()) != 0 || ::fsync(task) != 0) {
    return failure(place);
  }
  return Done{};
}

Result<Done, std::string> set_outputs_aside(int state, int task, const TaskKey& key) {
  if (const auto begun = begun_in(task)) {
    TRY(moved, move_aside(state, task, *begun, key));
  }
  if (::unlinkat(task, outputs_directory, AT_REMOVEDIR) == 0 || errno == ENOENT) return Done{};
  return move_aside(state, task, outputs_directory, key);
}

}  // namespace keel
