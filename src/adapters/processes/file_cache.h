// Files that travel with jobs, kept on this host by the digest of their bytes.
#pragma once

#include <string>
#include <string_view>

#include "adapters/processes/files.h"
#include "base/result.h"
#include "model/ids.h"

namespace keel {

struct CachedFile {
  std::string bytes{};
};

class FileCache {
 public:
  // directory  ours alone; made where it is not there, its parent must exist
  static Result<FileCache, std::string> open(const std::string& directory);

  // All: any thread.
  bool has(const Digest& digest) const;

  // Puts a file in place whole, durably; bytes that are not those of the digest are refused.
  // Repeating it is safe.
  Result<Done, std::string> put(const Digest& digest, std::string_view bytes) const;

  // Its bytes, proved again. A file that went bad on disk is removed, so that it is fetched anew.
  Result<CachedFile, std::string> read(const Digest& digest) const;

 private:
  explicit FileCache(Descriptor directory) : directory_(std::move(directory)) {}

  Descriptor directory_;
};

}  // namespace keel
