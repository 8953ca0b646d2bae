#include "adapters/processes/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace keel {
namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Which file systems a removal may touch: the one it began in.
struct Removal {
  dev_t device{};
  std::size_t moved{};
};

// Only the files' own user can have made a directory that this user cannot enter; root enters all.
Descriptor open_to_empty(int parent, const std::string& name) {
  Descriptor fd(::openat(parent, name.c_str(), directory_flags));
  if (fd || errno != EACCES || ::geteuid() == 0) return fd;
  (void)::fchmodat(parent, name.c_str(), 0700, 0);  // The open below tells whether it helped.
  return Descriptor(::openat(parent, name.c_str(), directory_flags));
}

// Moves a directory to a name in `top` that is free: whoever filled it may have guessed at ours.
Result<Done, std::string> move_up(int from, const std::string& entry, int top, Removal& removal) {
  for (bool opened = false;;) {
    const std::string aside = ".keel-removed-" + std::to_string(removal.moved++);
    if (::renameat2(from, entry.c_str(), top, aside.c_str(), RENAME_NOREPLACE) == 0) return Done{};
    if (errno == EEXIST) continue;
    // To move a directory is to write into it, which only root may in any case.
    if (errno != EACCES || std::exchange(opened, true)) return failure(entry);
    (void)::fchmodat(from, entry.c_str(), 0700, 0);  // The rename above tells whether it helped.
  }
}

// Empties `name` in `top`: its files go, its directories move up into `top`, where their turn
// comes. So two descriptors are enough for any depth.
Result<Done, std::string> flatten(int top, const std::string& name, Removal& removal) {
  const Descriptor fd = open_to_empty(top, name);
  if (!fd) return failure(name);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failure(name);
  if (status.st_dev != removal.device) return name + ": is another file system";
  if (::geteuid() != 0) (void)::fchmod(fd.get(), 0700);  // The unlink below tells.
  for (const std::string& entry : names_in(fd.get())) {
    if (::unlinkat(fd.get(), entry.c_str(), 0) == 0) continue;
    if (errno != EISDIR && errno != EPERM) return failure(entry);
    TRY(moved, move_up(fd.get(), entry, top, removal));
  }
  if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) return failure(name);
  return Done{};
}

// Rounds of emptying: one for each level of depth. Somebody who adds as fast as we remove is not
// waited for.
constexpr int rounds_max = 1 << 20;

Result<Done, std::string> empty(int top, Removal& removal) {
  auto names = names_in(top);
  for (int round = 0; !names.empty(); names = names_in(top), ++round) {
    if (round == rounds_max) return std::string("is filled again while it is emptied");
    for (const std::string& name : names) {
      if (::unlinkat(top, name.c_str(), 0) == 0) continue;
      if (errno != EISDIR && errno != EPERM) return failure(name);
      TRY(flat, flatten(top, name, removal));
    }
  }
  return Done{};
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string failure(std::string_view what, int error) {
  return std::string(what) + ": " + std::strerror(error);
}

std::string failure(std::string_view what) { return failure(what, errno); }

Result<Descriptor, std::string> open_directory(const std::string& path) {
  return open_directory(AT_FDCWD, path);
}

Result<Descriptor, std::string> open_directory(int parent, const std::string& name) {
  Descriptor fd(::openat(parent, name.c_str(), directory_flags));
  if (!fd) return failure(name);
  return fd;
}

Result<Descriptor, std::string> make_directory(int parent, const std::string& name,
                                               const Access& access) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) return failure(name);
  TRY(fd, open_directory(parent, name));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failure(name);
  const bool other_owner = (access.uid != static_cast<uid_t>(-1) && status.st_uid != access.uid) ||
                           (access.gid != static_cast<gid_t>(-1) && status.st_gid != access.gid);
  if (other_owner && ::fchown(fd.get(), access.uid, access.gid) != 0) return failure(name);
  if ((status.st_mode & 07777) != access.mode && ::fchmod(fd.get(), access.mode) != 0) {
    return failure(name);
  }
  return fd;
}

std::string name_beside(const std::string& name) { return "." + name + ".new"; }

Result<Done, std::string> make_room(int directory, const std::string& name, std::size_t bytes) {
  const Descriptor fd(::openat(directory, name_beside(name).c_str(),
                               O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return failure(name);
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) return failure("room for " + name, error);
  return Done{};
}

Result<Done, std::string> write_file(int directory, const std::string& name, std::string_view bytes,
                                     Lasting lasting) {
  const std::string beside = name_beside(name);
  Descriptor fd(::openat(directory, beside.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  const bool has_room = static_cast<bool>(fd);
  if (!has_room) {
    fd = Descriptor(::openat(directory, beside.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  // Written over before it is cut, so that no block is given back which is needed again.
  const bool written = fd && write_all(fd.get(), bytes) &&
                       ::ftruncate(fd.get(), static_cast<off_t>(bytes.size())) == 0;
  if (!written) return failure(name);
  if (lasting != Lasting::process && ::fsync(fd.get()) != 0) return failure(name);
  // Exchanged, the old file is the room for the next writing.
  const bool exchanged = has_room && ::renameat2(directory, beside.c_str(), directory, name.c_str(),
                                                 RENAME_EXCHANGE) == 0;
  if (!exchanged && ::renameat(directory, beside.c_str(), directory, name.c_str()) != 0) {
    return failure(name);
  }
  if (lasting == Lasting::power && ::fsync(directory) != 0) return failure(name);
  return Done{};
}

Result<std::optional<std::string>, std::string> read_file(int directory, const std::string& name,
                                                          std::size_t bytes_max) {
  const Descriptor fd(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT) return std::optional<std::string>{};
    return failure(name);
  }
  std::string bytes;
  char chunk[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(name);
    if (n == 0) return std::optional(std::move(bytes));
    bytes.append(chunk, static_cast<std::size_t>(n));
    if (bytes.size() > bytes_max) return name + ": is larger than any file of this kind";
  }
}

bool exists(int directory, const std::string& name) {
  return ::faccessat(directory, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<std::string> names_in(int directory) {
  // A descriptor of its own, since reading a directory moves its position.
  const int fd = ::openat(directory, ".", directory_flags);
  DIR* stream = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (stream == nullptr) {
    if (fd >= 0) ::close(fd);
    return {};
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  std::ranges::sort(names);
  return names;
}

Result<Done, std::string> remove_tree(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return Done{};
  const Descriptor top = open_to_empty(parent, name);
  if (!top) return failure(name);
  struct stat status {};
  if (::fstat(top.get(), &status) != 0) return failure(name);
  if (::geteuid() != 0) (void)::fchmod(top.get(), 0700);  // The unlinks below tell.
  Removal removal{.device = status.st_dev};
  TRY(emptied, empty(top.get(), removal));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) return failure(name);
  return Done{};
}

}  // namespace keel
