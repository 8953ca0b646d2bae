#include "tests/e2e/leftovers.h"

#include <algorithm>
#include <filesystem>

#include "tests/e2e/program.h"

namespace keel::e2e {
namespace files = std::filesystem;

std::set<std::string> files_of(const std::string& directory) {
  std::set<std::string> found;
  std::error_code gone;
  for (const auto& entry : files::recursive_directory_iterator(directory, gone)) {
    const std::string path = entry.path().string().substr(directory.size() + 1);
    const bool kept = path.starts_with("logs/") || path.starts_with("outputs/") ||
                      path.starts_with("outputs-aside/") || path == ".floors.new";
    if (!kept) found.insert(path);
  }
  return found;
}

std::set<std::string> groups_of(const std::string& node) {
  std::set<std::string> found;
  std::error_code gone;
  for (const char* tree : {"", "/memory", "/cpu", "/pids", "/freezer", "/unified"}) {
    const std::string base = "/sys/fs/cgroup" + std::string(tree) + "/keel/" + node;
    if (!files::is_directory(base, gone)) continue;
    found.insert(base);
    for (const auto& entry : files::recursive_directory_iterator(base, gone)) {
      if (entry.is_directory(gone)) found.insert(entry.path());
    }
  }
  return found;
}

std::size_t mounts_of(const std::string& directory) {
  const auto names_it = [&](const std::string& mount) {
    return mount.find(directory) != std::string::npos;
  };
  return static_cast<std::size_t>(
      std::ranges::count_if(lines_of("/proc/self/mountinfo"), names_it));
}

std::size_t descriptors_of(pid_t pid) {
  std::error_code gone;
  const files::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", gone);
  return static_cast<std::size_t>(std::distance(all, files::directory_iterator()));
}

}  // namespace keel::e2e
