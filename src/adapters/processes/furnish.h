// Makes ready what a task finds when it begins: its directories, its files, its environment.
#pragma once

#include <string>

#include "adapters/processes/account.h"
#include "adapters/processes/file_cache.h"
#include "adapters/processes/files.h"
#include "base/result.h"
#include "keel/v1/local.pb.h"
#include "ports/runtime.h"

namespace keel {

// Where the directories of one task are, as absolute paths.
struct TaskPlaces {
  std::string work{};
  std::string outputs{};
  std::string scratch{};
  std::string checkpoints{};  // of the job: the same for all its tasks and attempts on this host
};

// Makes the directories below `task`, whose contents are then as if for the first time. Nobody but
// this user can look into the working directory before all files are in it.
Result<Done, std::string> furnish(int task, const PrepareOrder& order, const FileCache& files);

// What the shim is to run. Nothing of this program's own environment gets in.
Result<v1::Launch, std::string> launch_of(const PrepareOrder& order, const TaskPlaces& places,
                                          const Account& account);

}  // namespace keel
