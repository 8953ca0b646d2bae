#include "apps/keel/local_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "apps/keel/interrupt.h"

namespace keel::cli {
namespace {

constexpr mode_t executable_bits = S_IXUSR | S_IXGRP | S_IXOTH;

Unreadable too_large() { return {"It is larger than that."}; }

Unreadable last_error() { return {std::string(std::strerror(errno)) + "."}; }

Result<std::string, Unreadable> read_all(int descriptor, std::size_t bytes_max) {
  std::string bytes;
  std::array<char, 64 << 10> part;
  while (true) {
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    // Ctrl-C ends the wait for a pipe.
    if (count < 0 && errno == EINTR && interrupts() == 0) continue;
    if (count < 0) return last_error();
    if (count == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(count) > bytes_max) return too_large();
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<Content, Unreadable> read_content(const std::filesystem::path& path, std::size_t bytes_max) {
  // Not to hang on a pipe that somebody put where a file was.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return last_error();
  struct stat status {};
  Result<Content, Unreadable> result = Unreadable{"It is not a regular file."};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    auto bytes = read_all(descriptor, bytes_max);
    if (bytes) {
      result = Content{*std::move(bytes), (status.st_mode & executable_bits) != 0};
    } else {
      result = bytes.error();
    }
  }
  ::close(descriptor);
  return result;
}

Result<std::string, Unreadable> read_stream(const std::filesystem::path& path,
                                            std::size_t bytes_max) {
  if (path == "-") return read_all(STDIN_FILENO, bytes_max);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return last_error();
  auto bytes = read_all(descriptor, bytes_max);
  ::close(descriptor);
  return bytes;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool is_in_path(std::string_view name, std::string_view path) {
  while (true) {
    const std::size_t colon = path.find(':');
    std::filesystem::path candidate(path.substr(0, colon));
    candidate /= name;
    if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return true;
    if (colon == path.npos) return false;
    path.remove_prefix(colon + 1);
  }
}

std::optional<std::string> path_below(const std::filesystem::path& directory,
                                      const std::filesystem::path& file) {
  const auto relative =
      (directory / file).lexically_normal().lexically_relative(directory.lexically_normal());
  const std::string text = relative.generic_string();
  if (text.empty() || text == "." || text == ".." || text.starts_with("../")) return std::nullopt;
  return text;
}

bool is_system_path(const std::filesystem::path& path) {
  const std::string text = path.lexically_normal().generic_string();
  for (const char* root :
       {"/bin/", "/sbin/", "/usr/", "/opt/", "/lib/", "/lib64/", "/nix/", "/snap/"}) {
    if (text.starts_with(root)) return true;
  }
  return false;
}

}  // namespace keel::cli
