// The files that travel with jobs, in one directory, each named by the digest of its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"
#include "model/units.h"

namespace keel {

struct FileStoreError {
  enum class Code : std::uint8_t {
    too_large,    // the file is over limits::file_bytes_max: nothing was kept, make it smaller
    full,         // all files together would be over the cap: nothing was kept, ask the operator
    missing,      // no such file is kept: send it first
    unavailable,  // the disk refused; nothing is promised: try again later
  };
  Code code{};
  std::string detail;  // for people: sizes and limits, or what the system said
};

class FileStore {
 public:
  // Opens `directory`, makes it where there is none, and removes what an earlier process left half
  // written. One process per directory.
  //
  // total_max   cap on the sum of all files' sizes.
  static Result<std::unique_ptr<FileStore>, FileStoreError> open(std::string directory,
                                                                 Bytes total_max);

  // All calls: any thread. They block for the disk.

  // Keeps `bytes` and gives their digest. Durable when it returns. Idempotent.
  Result<Digest, FileStoreError> put(std::string_view bytes);

  bool has(const Digest& digest) const;

  // At most `max` bytes from `offset` on; empty at the end.
  Result<std::string, FileStoreError> read(const Digest& digest, std::int64_t offset,
                                           std::size_t max) const;

  // The sum of all files' sizes.
  Bytes total() const;

  FileStore(std::string directory, Bytes total_max);

 private:
  Result<Done, FileStoreError> write(const Digest& digest, std::string_view bytes);
  Result<Done, FileStoreError> take_stock();

  const std::string directory_;
  const Bytes total_max_;

  mutable std::mutex mutex_;       // guards the rest
  std::map<Digest, Bytes> files_;  // durable ones
  Bytes total_;                    // of `files_`, and of those that are being written
  std::uint64_t writes_ = 0;       // numbers the temporary files
};

}  // namespace keel
