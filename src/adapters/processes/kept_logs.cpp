#include "adapters/processes/kept_logs.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "adapters/processes/identity.h"
#include "adapters/processes/task_files.h"
#include "keel/v1/local.pb.h"
#include "model/ids.h"

namespace keel {
namespace {

constexpr const char* kept_directory = "logs";
constexpr int removals_max = 16;  // of one call: the agent has other things to do

std::int64_t bytes_in(int task) {
  const auto log = open_directory(task, log_directory);
  if (!log) return 0;
  std::int64_t bytes = 0;
  for (const std::string& segment : names_in(log->get())) {
    struct stat status {};
    if (::fstatat(log->get(), segment.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      bytes += status.st_size;
    }
  }
  return bytes;
}

}  // namespace

Result<KeptLogs, std::string> KeptLogs::open(int state, const LogBounds& bounds, Instant now) {
  TRY(logs, make_directory(state, kept_directory, closed));
  KeptLogs kept(std::move(logs), bounds, now);
  for (const std::string& task : names_in(kept.logs_.get())) {
    if (parse_task_key(task)) kept.add(task);
  }
  return kept;
}

void KeptLogs::add(const std::string& task) {
  const auto directory = open_task(task);
  if (!directory) return;
  v1::ExitRecord record;
  const bool good = read_message(directory->get(), exit_file, record) == Reading::good;
  const bool this_boot = good && record.boot_id() == boot_id();
  const std::int64_t bytes = bytes_in(directory->get());
  const Instant ended{good ? record.ended_us() : 0};
  if (entries_.insert({this_boot, ended, task, bytes}).second) bytes_ += bytes;
}

Result<Descriptor, std::string> KeptLogs::open_task(const std::string& task) const {
  return open_directory(logs_.get(), task);
}

bool KeptLogs::has(const std::string& task) const { return exists(logs_.get(), task); }

Result<Done, std::string> KeptLogs::take(int tasks, const std::string& task) {
  if (::renameat2(tasks, task.c_str(), logs_.get(), task.c_str(), RENAME_NOREPLACE) != 0) {
    return failure(task);
  }
  add(task);
  return Done{};
}

bool KeptLogs::is_beyond(const Entry& oldest, Instant now) const {
  const Instant since = oldest.this_boot ? oldest.ended : opened_;
  return entries_.size() > bounds_.tasks_max || bytes_ > bounds_.bytes_max.count ||
         now - since > bounds_.span;
}

void KeptLogs::prune(Instant now) {
  for (int i = 0; i < removals_max && !entries_.empty(); ++i) {
    const Entry& oldest = *entries_.begin();
    if (!is_beyond(oldest, now)) return;
    if (!remove_tree(logs_.get(), oldest.task)) return;  // Tried again with the next call.
    bytes_ -= oldest.bytes;
    entries_.erase(entries_.begin());
  }
}

}  // namespace keel
