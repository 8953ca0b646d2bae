// Files that travel with jobs, named by what is in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"

namespace keel {

struct FilesError {
  enum class Code : std::uint8_t {
    not_found,    // no such file
    full,         // no room for it: the operator has to act
    unavailable,  // the disk said no: try again later
  };
  Code code{};
  std::string detail;  // for the operator's log
};

class Files {
 public:
  virtual ~Files() = default;  // All calls: any thread. They block for a disk, and no longer.

  virtual bool has(const Digest& digest) = 0;

  // Durable when it returns. Putting the same bytes again is the same as once.
  virtual Result<Digest, FilesError> put(std::string_view content) = 0;

  // At most `limit` bytes from `offset` on; empty at and behind the end.
  virtual Result<std::string, FilesError> read(const Digest& digest, std::int64_t offset,
                                               std::size_t limit) = 0;
};

}  // namespace keel
