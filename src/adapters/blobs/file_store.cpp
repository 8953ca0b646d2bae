// put, step by step; a crash between any two leaves either no file of that name or the whole one:
//
//   write DIR/incoming-N   fsync it   rename to DIR/DIGEST   fsync DIR   answer
#include "adapters/blobs/file_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/checked.h"
#include "model/limits.h"
#include "wire/spec.h"

namespace keel {
namespace {

using enum FileStoreError::Code;

constexpr std::string_view temporary_prefix = "incoming-";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

FileStoreError failed(const std::string& what, int error) {
  return {unavailable, what + ": " + std::generic_category().message(error)};
}

Result<Done, FileStoreError> write_whole(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return failed(path, errno);
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failed(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file.get()) != 0) return failed(path, errno);
  return Done{};
}

Result<Done, FileStoreError> sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) return failed(path, errno);
  return Done{};
}

}  // namespace

FileStore::FileStore(std::string directory, Bytes total_max)
    : directory_(std::move(directory)), total_max_(total_max) {}

Result<std::unique_ptr<FileStore>, FileStoreError> FileStore::open(std::string directory,
                                                                   Bytes total_max) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return failed(directory, error.value());
  auto store = std::make_unique<FileStore>(std::move(directory), total_max);
  TRY(stock, store->take_stock());
  return store;
}

Result<Done, FileStoreError> FileStore::take_stock() {
  const std::lock_guard lock(mutex_);
  std::error_code error;
  std::filesystem::directory_iterator entry(directory_, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(temporary_prefix)) {
      std::filesystem::remove(entry->path(), error);
    } else if (const auto digest = parse_digest(name)) {
      const Bytes size{static_cast<std::int64_t>(entry->file_size(error))};
      files_.emplace(*digest, size);
      total_.count += size.count;
    }
    if (!error) entry.increment(error);
  }
  if (error) return failed(directory_, error.value());
  // A rename that an earlier process did not live to sync is a promise from now on.
  return sync_directory(directory_);
}

Result<Digest, FileStoreError> FileStore::put(std::string_view bytes) {
  if (bytes.size() > limits::file_bytes_max) {
    return FileStoreError{too_large, std::to_string(bytes.size()) + " bytes; at most " +
                                         std::to_string(limits::file_bytes_max)};
  }
  const Bytes size{static_cast<std::int64_t>(bytes.size())};
  const Digest digest = sha256(bytes);
  {
    const std::lock_guard lock(mutex_);
    if (files_.contains(digest)) return digest;
    const auto sum = checked_add(total_.count, size.count);
    if (!sum || *sum > total_max_.count) {
      return FileStoreError{
          full, std::to_string(total_.count) + " of " + std::to_string(total_max_.count) +
                    " bytes are used, no room for " + std::to_string(size.count) + " more"};
    }
    total_.count = *sum;
  }
  const auto written = write(digest, bytes);
  const std::lock_guard lock(mutex_);
  // Two threads may have written the same file; it counts once.
  if (!written || !files_.emplace(digest, size).second) total_.count -= size.count;
  if (!written) return written.error();
  return digest;
}

Result<Done, FileStoreError> FileStore::write(const Digest& digest, std::string_view bytes) {
  std::string temporary = directory_ + "/" + std::string(temporary_prefix);
  {
    const std::lock_guard lock(mutex_);
    temporary += std::to_string(++writes_);
  }
  const std::string path = directory_ + "/" + print(digest);
  auto done = write_whole(temporary, bytes);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = failed(path, errno);
  if (!done) {
    (void)::unlink(temporary.c_str());  // else the next open() removes it
    return done;
  }
  return sync_directory(directory_);
}

bool FileStore::has(const Digest& digest) const {
  const std::lock_guard lock(mutex_);
  return files_.contains(digest);
}

Result<std::string, FileStoreError> FileStore::read(const Digest& digest, std::int64_t offset,
                                                    std::size_t max) const {
  if (!has(digest)) return FileStoreError{missing, print(digest)};
  const std::string path = directory_ + "/" + print(digest);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return failed(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(path, errno);
  if (offset < 0 || offset >= status.st_size) return std::string{};

  const auto left = static_cast<std::size_t>(status.st_size - offset);
  std::string bytes(std::min(max, left), '\0');
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + filled, bytes.size() - filled,
                                offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

Bytes FileStore::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace keel
