#include "adapters/processes/disk_gauge.h"

#include <sys/statvfs.h>
#include <unistd.h>

namespace keel {
namespace {

// What the records of some hundred tasks take.
constexpr std::int64_t files_wanted = 4096;

std::string in_mebibytes(Bytes bytes) { return std::to_string(bytes.count >> 20) + " MiB"; }

}  // namespace

DiskRoom disk_room(const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return {.free = gibibytes(1 << 20)};
  const bool is_root = ::geteuid() == 0;
  const auto blocks = static_cast<std::int64_t>(is_root ? status.f_bfree : status.f_bavail);
  const auto files = static_cast<std::int64_t>(is_root ? status.f_ffree : status.f_favail);
  DiskRoom room{.free = {blocks * static_cast<std::int64_t>(status.f_frsize)}};
  if (status.f_files != 0) room.files_free = files;
  return room;
}

std::optional<std::string> DiskGauge::look(const DiskRoom& room) {
  const auto enough = [this](std::int64_t free, std::int64_t wanted) {
    return free >= wanted + (full_ ? wanted / 4 : 0);
  };
  if (enough(room.free.count, wanted_.count) && enough(room.files_free, files_wanted)) {
    full_.reset();
  } else if (!full_) {
    full_ = "the disk is full: " + in_mebibytes(room.free) + " and " +
            std::to_string(room.files_free) + " files are free, " + in_mebibytes(wanted_) +
            " and " + std::to_string(files_wanted) +
            " files are wanted; what runs goes on, and nothing new begins";
  }
  return full_;
}

}  // namespace keel
