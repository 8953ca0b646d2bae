#include "adapters/processes/file_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "model/limits.h"
#include "wire/spec.h"

namespace keel {

Result<FileCache, std::string> FileCache::open(const std::string& directory) {
  TRY(fd, make_directory(AT_FDCWD, directory, closed));
  return FileCache(std::move(fd));
}

bool FileCache::has(const Digest& digest) const { return exists(directory_.get(), print(digest)); }

Result<Done, std::string> FileCache::put(const Digest& digest, std::string_view bytes) const {
  if (bytes.size() > limits::file_bytes_max) return print(digest) + ": is too large";
  if (sha256(bytes) != digest) return print(digest) + ": other bytes came than were asked for";
  static std::mutex
      one_at_a_time;  // Two writers of one file would share what they write beside it.
  const std::lock_guard lock(one_at_a_time);
  if (has(digest)) return Done{};
  return write_file(directory_.get(), print(digest), bytes, Lasting::power);
}

Result<CachedFile, std::string> FileCache::read(const Digest& digest) const {
  const std::string name = print(digest);
  TRY(bytes, read_file(directory_.get(), name, limits::file_bytes_max));
  if (!bytes) return failure(name, ENOENT);
  if (sha256(*bytes) == digest) return CachedFile{*std::move(bytes)};
  ::unlinkat(directory_.get(), name.c_str(), 0);
  return name + ": its bytes have changed on disk";
}

}  // namespace keel
