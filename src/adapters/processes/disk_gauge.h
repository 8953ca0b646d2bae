// Whether the disk of an agent's state has room for new work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/units.h"

namespace keel {

// Of one file system, for those who may use what is kept for root only if they are root.
struct DiskRoom {
  Bytes free{};
  std::int64_t files_free = 1'000'000;  // inodes; file systems without a bound tell none
};

// Of the file system that holds `path`; as if empty of worries where it cannot be asked.
DiskRoom disk_room(const std::string& path);

class DiskGauge {
 public:
  // wanted  with less free than this, nothing new is to begin
  explicit DiskGauge(Bytes wanted) : wanted_(wanted) {}

  // Nothing, or for people why nothing new may begin: as it was when the disk became full. It is
  // full from the moment that less than wanted is free until a quarter more than that is, so that a
  // node at the edge does not change with each file. Deterministic.
  std::optional<std::string> look(const DiskRoom& room);

 private:
  Bytes wanted_;
  std::optional<std::string> full_;
};

}  // namespace keel
