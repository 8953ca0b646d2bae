// Files of the person's own machine, as far as submitting needs them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace keel::cli {

struct Content {
  std::string bytes{};
  bool executable{};  // for anybody
};

// Why a file cannot be read: a sentence for people, without its name.
struct Unreadable {
  std::string why;
};

// A regular file of at most `bytes_max` bytes.
Result<Content, Unreadable> read_content(const std::filesystem::path& path, std::size_t bytes_max);

// All of what is read once, with the same bound: a file, a pipe or a device; "-" is stdin. Waits
// for whoever writes a pipe.
Result<std::string, Unreadable> read_stream(const std::filesystem::path& path,
                                            std::size_t bytes_max);

bool is_file(const std::filesystem::path& path);

// Whether a program of this name is found in `path`, the value of PATH.
bool is_in_path(std::string_view name, std::string_view path);

// The path of `file` below `directory`, where it lies there: "data/x.bin".
std::optional<std::string> path_below(const std::filesystem::path& directory,
                                      const std::filesystem::path& file);

// True for what the operating system or an administrator put there: not the person's own program.
bool is_system_path(const std::filesystem::path& path);

}  // namespace keel::cli
