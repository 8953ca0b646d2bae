// Files by directory handle: nothing here follows a symbolic link, so that a task which writes into
// its own directories cannot lead us out of them. Errors are texts for people and name the file.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace keel {

// Owns one file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  void reset();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "WHAT: No such file or directory", from errno unless `error` is given.
std::string failure(std::string_view what);
std::string failure(std::string_view what, int error);

// An existing directory; the last component may not be a link.
Result<Descriptor, std::string> open_directory(const std::string& path);
Result<Descriptor, std::string> open_directory(int parent, const std::string& name);

// Whose a directory is to be, and who may enter it.
struct Access {
  mode_t mode{};
  uid_t uid{};  // -1: stays as it is
  gid_t gid{};
};
constexpr Access passable{0711, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
constexpr Access closed{0700, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};

// `name` in `parent`, made where it is not there. Mode and owner are set either way.
Result<Descriptor, std::string> make_directory(int parent, const std::string& name,
                                               const Access& access);

// Replaces the file in one step: readers see the old bytes or the new, whole. Mode 0600.
enum class Lasting : std::uint8_t {
  process,  // survives the writer
  whole,    // after a power cut too it is the old file or the new one, and never a torn one
  power,    // survives a power cut: file and directory are synced
};
Result<Done, std::string> write_file(int directory, const std::string& name, std::string_view bytes,
                                     Lasting lasting);

// Sets blocks aside with which write_file() can write `name` once, up to so many bytes, when the
// disk is full; and again and again where the file was there before. They lie in a file beside it.
Result<Done, std::string> make_room(int directory, const std::string& name, std::size_t bytes);

// The file beside `name` in which a writing begins, and in which room for it is kept. One that a
// dead writer left is as good as room.
std::string name_beside(const std::string& name);

// Nothing where there is no such file. More than `bytes_max` is an error.
Result<std::optional<std::string>, std::string> read_file(int directory, const std::string& name,
                                                          std::size_t bytes_max = 16 << 20);

bool exists(int directory, const std::string& name);

// Sorted, without "." and "..". Empty where it cannot be read.
std::vector<std::string> names_in(int directory);

// Removes a file or a directory with all that is in it, without leaving its file system. What is
// not there is removed already. Uses few descriptors however deep it goes.
Result<Done, std::string> remove_tree(int parent, const std::string& name);

}  // namespace keel
