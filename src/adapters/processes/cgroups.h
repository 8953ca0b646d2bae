// Control groups of tasks, on hosts with version 2, version 1, or both (hybrid: version 1 limits,
// and a version 2 tree that can still kill and tell who is left). What a host does not allow is a
// warning for people, not an error: the task runs without that limit.
#pragma once

#include <string>
#include <vector>

#include "adapters/processes/identity.h"
#include "base/result.h"
#include "model/units.h"

namespace keel {

struct CgroupLimits {
  std::optional<Bytes> memory{};
  std::optional<Millicores> cpu{};
};

class Cgroups {
 public:
  // Looks at what the host has and tries it out.
  //
  // root   where the host mounts them: "/sys/fs/cgroup"
  // base   our place below each hierarchy, "keel/NODE": agents with different bases never meet
  // error  another agent has that place, now
  static Result<Cgroups, std::string> open(const std::string& root, const std::string& base);

  // "memory limits are not in force: …", one for each thing that is missing.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The tasks that have groups here, whoever made them, in ascending order; and those groups.
  std::vector<std::string> tasks() const;
  std::vector<std::string> groups_of(const std::string& task) const;

  // Gives our place back where no task has a group there.
  void leave() const;

  // Makes the groups of one task, with its limits; their directories are for the shim's launch
  // file. Repeating it sets the limits again. Any thread.
  Result<std::vector<std::string>, std::string> make(const std::string& task,
                                                     const CgroupLimits& limits) const;

 private:
  struct Hierarchy {
    std::string base;  // existing directory, in which the tasks' groups are made
    bool memory{}, cpu{}, pids{};
    bool version_2{};
  };

  Result<Done, std::string> lock();
  void open_version_1(const std::string& root, const std::string& base);
  void open_version_2(const std::string& root, const std::string& base);
  void add_controller(const std::string& name, const std::string& root, const std::string& base);
  std::string place_below_ours(const std::string& root);
  void warn(const std::string& what, const std::string& why);

  std::vector<Hierarchy> hierarchies_;
  std::vector<std::string> warnings_;
  Descriptor lock_;  // on the first base, for as long as this lives
};

// Of one group's directory, those below it included.
std::vector<pid_t> members(const std::string& group);
bool is_empty(const std::string& group);

// SIGKILL for every member, in one step where the kernel can do that. Repeat until it is empty.
void kill_members(const std::string& group);

// How many members the kernel has killed for want of memory; 0 where the group does not say.
std::int64_t out_of_memory_kills(const std::string& group);

// Removes the groups, retrying for a short while: the kernel lets the last member go late. False
// where one is still there.
bool remove_groups(const std::vector<std::string>& groups);

}  // namespace keel
