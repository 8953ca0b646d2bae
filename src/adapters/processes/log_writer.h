// Writes a task's output, as it comes, into the segments of its log. Bounded in memory and on disk
// whatever the task writes. A disk that fails costs lines, never the task: what was lost is counted
// and noted in the log once it can be written again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "adapters/processes/files.h"
#include "model/units.h"

namespace keel {

class LogWriter {
 public:
  // directory  kept open by the caller; nobody else writes there
  // bytes_max  of all segments together, raised to what eight of the longest lines need
  LogWriter(int directory, std::int64_t bytes_max);

  // Bytes as read from the task's stdout or stderr.
  void add(bool error, std::string_view bytes, Instant wall);

  // A line of our own, on stderr.
  void note(std::string_view text, Instant wall);

  // Writes out, as partial, what has waited for the end of its line for a second.
  void tick(Instant wall);

  // Nothing more will come: writes everything out, and syncs it.
  void finish(Instant wall);

 private:
  struct Stream {
    std::string line{};  // begun, and not ended yet
    Instant since{};
  };
  struct Lost {
    std::int64_t lines{};
    std::int64_t bytes{};
    int error{};
  };

  void put_line(bool error, bool partial, std::string_view text, Instant wall);
  void flush();
  bool write_out();
  bool rotate();
  void confess(Instant wall);

  int directory_;
  std::int64_t segment_bytes_max_;
  Descriptor segment_;
  std::int64_t offset_{};  // of the end of what is on disk, in the whole log
  std::int64_t segment_begin_{};
  Stream streams_[2];
  std::string ready_;  // whole lines, not yet written
  std::int64_t ready_lines_{};
  Lost lost_;
  Instant time_at_{-1};  // printed once for many lines
  std::string time_;
};

}  // namespace keel
