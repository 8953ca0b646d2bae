// What jobs may leave behind on a host, counted.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace keel::e2e {

// All files and directories below `directory`, by their paths from there on; but the records of
// floors, which are written over, and what was set aside on purpose: logs and outputs.
std::set<std::string> files_of(const std::string& directory);

// The control groups of this host in which `node` stands as a part of the path.
std::set<std::string> groups_of(const std::string& node);

// Mounts of this namespace that name `directory`: others come and go with their own tests.
std::size_t mounts_of(const std::string& directory);

// Open ones of a process.
std::size_t descriptors_of(pid_t pid);

}  // namespace keel::e2e
