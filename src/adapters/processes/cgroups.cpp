#include "adapters/processes/cgroups.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <set>
#include <sstream>

#include "model/ids.h"

namespace keel {
namespace {

// More processes than any sane task has, fewer than would take the host's pid space.
constexpr int pids_per_task_max = 16384;
constexpr std::int64_t cpu_period_us = 100'000;
constexpr std::int64_t cpu_quota_min_us = 1'000;  // the kernel refuses less

bool is_a(const std::string& path, decltype(statfs::f_type) magic) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == magic;
}

Result<Done, std::string> put(const std::string& file, const std::string& text) {
  const Descriptor fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return failure(file);
  if (::write(fd.get(), text.data(), text.size()) < 0) return failure(file);
  return Done{};
}

std::string get(const std::string& file) {
  const auto text = read_file(AT_FDCWD, file);
  return text && *text ? **text : "";
}

// The number after `key` in a file of "key number" lines.
std::int64_t number_after(const std::string& text, const std::string& key) {
  std::istringstream words(text);
  std::string word;
  std::int64_t number{};
  while (words >> word >> number) {
    if (word == key) return number;
  }
  return 0;
}

Result<Done, std::string> make_directories(const std::string& from, const std::string& below) {
  std::istringstream parts(below);
  std::string path = from;
  for (std::string part; std::getline(parts, part, '/');) {
    path += "/" + part;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return failure(path);
  }
  return Done{};
}

// Version 2 lets a group use a controller only where every group above passes it on.
Result<Done, std::string> pass_on(const std::string& from, const std::string& below,
                                  const std::string& controller) {
  std::istringstream parts(below);
  std::string path = from;
  TRY(first, put(path + "/cgroup.subtree_control", "+" + controller));
  for (std::string part; std::getline(parts, part, '/');) {
    path += "/" + part;
    TRY(next, put(path + "/cgroup.subtree_control", "+" + controller));
  }
  return Done{};
}

std::string quota_us(Millicores cpu) {
  const std::int64_t millicores = std::min(cpu.count, std::int64_t{1'000'000'000});
  return std::to_string(std::max(cpu_quota_min_us, millicores * (cpu_period_us / 1'000)));
}

Result<Done, std::string> limit_memory(const std::string& group, Bytes memory, bool version_2) {
  const std::string bytes = std::to_string(memory.count);
  if (version_2) {
    TRY(max, put(group + "/memory.max", bytes));
    (void)put(group + "/memory.swap.max", "0");   // absent where the kernel has no swap accounting
    (void)put(group + "/memory.oom.group", "1");  // likewise; then the kernel chooses one victim
    return Done{};
  }
  // Raising needs the sum first, lowering needs it last; one of the two orders is right.
  (void)put(group + "/memory.memsw.limit_in_bytes", bytes);
  TRY(max, put(group + "/memory.limit_in_bytes", bytes));
  (void)put(group + "/memory.memsw.limit_in_bytes", bytes);  // absent without swap accounting
  return Done{};
}

Result<Done, std::string> limit_cpu(const std::string& group, Millicores cpu, bool version_2) {
  const std::string period = std::to_string(cpu_period_us);
  if (version_2) return put(group + "/cpu.max", quota_us(cpu) + " " + period);
  TRY(done, put(group + "/cpu.cfs_period_us", period));
  return put(group + "/cpu.cfs_quota_us", quota_us(cpu));
}

Result<Done, std::string> limit_pids(const std::string& group) {
  return put(group + "/pids.max", std::to_string(pids_per_task_max));
}

// The group of this program in the version 2 tree: "" for its top.
std::string own_group() {
  std::istringstream lines(get("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.size() > 4 ? line.substr(3) : "";
  }
  return "";
}

// systemd marks what it hands over; without systemd, what this user owns has been handed over.
bool is_delegated(const std::string& group) {
  char mark = '0';
  if (::getxattr(group.c_str(), "trusted.delegate", &mark, 1) == 1 && mark == '1') return true;
  if (::getxattr(group.c_str(), "user.delegate", &mark, 1) == 1 && mark == '1') return true;
  return ::geteuid() != 0 && ::access((group + "/cgroup.procs").c_str(), W_OK) == 0;
}

void add_members(const std::string& group, std::vector<pid_t>& pids) {
  std::istringstream lines(get(group + "/cgroup.procs"));
  for (pid_t pid{}; lines >> pid;) pids.push_back(pid);
  const auto directory = open_directory(group);
  if (!directory) return;
  for (const std::string& name : names_in(directory->get())) {
    struct stat status {};
    const std::string below = group + "/" + name;
    if (::lstat(below.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) add_members(below, pids);
  }
}

// Its pid may be somebody else's by now; held, it is asked again where it belongs.
void kill_if_member(pid_t pid, const std::string& group) {
  const auto living = look_at(pid);
  if (!living) return;
  const Descriptor held = hold(living->who);
  const std::string name = group.substr(group.rfind('/'));
  const std::string groups = get("/proc/" + std::to_string(pid) + "/cgroup");
  const bool member =
      groups.find(name + "\n") != std::string::npos || groups.find(name + "/") != std::string::npos;
  if (held && member) signal_held(held, SIGKILL);
}

// A task of root can make groups below its own.
bool remove_group(const std::string& group) {
  if (::rmdir(group.c_str()) == 0 || errno == ENOENT) return true;
  const auto directory = open_directory(group);
  if (!directory) return false;
  for (const std::string& name : names_in(directory->get())) {
    struct stat status {};
    const std::string below = group + "/" + name;
    if (::lstat(below.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) remove_group(below);
  }
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

void Cgroups::warn(const std::string& what, const std::string& why) {
  warnings_.push_back(what + ": " + why);
}

Result<Cgroups, std::string> Cgroups::open(const std::string& root, const std::string& base) {
  Cgroups cgroups;
  if (is_a(root, CGROUP2_SUPER_MAGIC)) {
    cgroups.open_version_2(root, base);
  } else {
    cgroups.open_version_1(root, base);
  }
  TRY(locked, cgroups.lock());
  return cgroups;
}

Result<Done, std::string> Cgroups::lock() {
  if (hierarchies_.empty()) return Done{};
  const std::string& base = hierarchies_.front().base;
  TRY(opened, open_directory(base));
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) {
    return base + ": is in use by another agent of this name";
  }
  if (!exists(AT_FDCWD, base)) return base + ": was removed by an agent that just ended";
  lock_ = std::move(opened);
  return Done{};
}

std::vector<std::string> Cgroups::tasks() const {
  std::set<std::string> tasks;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const auto base = open_directory(hierarchy.base);
    if (!base) continue;
    for (const std::string& name : names_in(base->get())) {
      if (parse_task_key(name)) tasks.insert(name);
    }
  }
  return {tasks.begin(), tasks.end()};
}

void Cgroups::leave() const {
  for (const Hierarchy& hierarchy : hierarchies_) ::rmdir(hierarchy.base.c_str());
}

std::vector<std::string> Cgroups::groups_of(const std::string& task) const {
  std::vector<std::string> groups;
  for (const Hierarchy& hierarchy : hierarchies_) groups.push_back(hierarchy.base + "/" + task);
  return groups;
}

void Cgroups::open_version_1(const std::string& root, const std::string& base) {
  for (const std::string name : {"memory", "cpu", "pids"}) add_controller(name, root, base);
  // In a hybrid the version 2 tree limits nothing, but it kills a whole group in one step.
  const std::string unified = root + "/unified";
  if (is_a(unified, CGROUP2_SUPER_MAGIC) && make_directories(unified, base) &&
      exists(AT_FDCWD, unified + "/" + base + "/cgroup.kill")) {
    hierarchies_.push_back({.base = unified + "/" + base, .version_2 = true});
    return;
  }
  const std::string freezer = root + "/freezer";
  if (is_a(freezer, CGROUP_SUPER_MAGIC) && make_directories(freezer, base)) {
    hierarchies_.push_back({.base = freezer + "/" + base});
  }
  if (hierarchies_.empty()) {
    warn("processes of a task are found by their parents and environment only",
         "no control group can be made below " + root);
  }
}

void Cgroups::add_controller(const std::string& name, const std::string& root,
                             const std::string& base) {
  const std::string mount = root + "/" + name;
  const std::string what = name + " limits are not in force";
  if (!is_a(mount, CGROUP_SUPER_MAGIC)) return warn(what, mount + " is no control group");
  const auto made = make_directories(mount, base + "/.trial");
  if (!made) return warn(what, made.error());
  const std::string trial = mount + "/" + base + "/.trial";
  const auto tried = name == "memory" ? limit_memory(trial, mebibytes(64), false)
                     : name == "cpu"  ? limit_cpu(trial, Millicores{1000}, false)
                                      : limit_pids(trial);
  ::rmdir(trial.c_str());
  if (!tried) return warn(what, tried.error());
  hierarchies_.push_back({.base = mount + "/" + base,
                          .memory = name == "memory",
                          .cpu = name == "cpu",
                          .pids = name == "pids"});
}

// Version 2 forbids processes in a group that passes controllers on, so an agent that was handed
// its own group first moves into a leaf of it.
std::string Cgroups::place_below_ours(const std::string& root) {
  std::string own = own_group();
  if (own.ends_with("/agent")) own.resize(own.size() - 6);
  const std::string group = root + own;
  if (own.empty() || !is_delegated(group)) return root;
  const auto made = make_directories(group, "agent");
  const auto moved = made ? put(group + "/agent/cgroup.procs", "0") : made;
  if (moved) return group;
  warn("the agent's own control group cannot be used", moved.error());
  return root;
}

void Cgroups::open_version_2(const std::string& root, const std::string& base) {
  const std::string from = place_below_ours(root);
  const auto made = make_directories(from, base);
  if (!made) {
    warn("no limits are in force, and processes of a task are found by their parents only",
         made.error());
    return;
  }
  Hierarchy hierarchy{.base = from + "/" + base, .version_2 = true};
  for (const std::string name : {"memory", "cpu", "pids"}) {
    const auto passed = pass_on(from, base, name);
    if (!passed) warn(name + " limits are not in force", passed.error());
    (name == "memory" ? hierarchy.memory
     : name == "cpu"  ? hierarchy.cpu
                      : hierarchy.pids) = passed.has_value();
  }
  hierarchies_.push_back(hierarchy);
}

Result<std::vector<std::string>, std::string> Cgroups::make(const std::string& task,
                                                            const CgroupLimits& limits) const {
  std::vector<std::string> groups;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const std::string group = hierarchy.base + "/" + task;
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return failure(group);
    if (hierarchy.memory && limits.memory) {
      TRY(memory, limit_memory(group, *limits.memory, hierarchy.version_2));
    }
    if (hierarchy.cpu && limits.cpu) {
      TRY(cpu, limit_cpu(group, *limits.cpu, hierarchy.version_2));
    }
    if (hierarchy.pids) {
      TRY(pids, limit_pids(group));
    }
    groups.push_back(group);
  }
  return groups;
}

std::vector<pid_t> members(const std::string& group) {
  std::vector<pid_t> pids;
  add_members(group, pids);
  std::ranges::sort(pids);
  return pids;
}

bool is_empty(const std::string& group) { return members(group).empty(); }

void kill_members(const std::string& group) {
  if (put(group + "/cgroup.kill", "1")) return;
  // Frozen they cannot fork away; the signal acts as they thaw.
  const bool frozen = put(group + "/freezer.state", "FROZEN").has_value();
  for (const pid_t pid : members(group)) kill_if_member(pid, group);
  if (frozen) (void)put(group + "/freezer.state", "THAWED");  // Tried again with the next kill.
}

std::int64_t out_of_memory_kills(const std::string& group) {
  const std::string version_2 = get(group + "/memory.events");
  if (!version_2.empty()) return number_after(version_2, "oom_kill");
  return number_after(get(group + "/memory.oom_control"), "oom_kill");
}

bool remove_groups(const std::vector<std::string>& groups) {
  constexpr int tries_max = 50;
  bool gone = false;
  for (int tries = 0; !gone && tries < tries_max; ++tries) {
    if (tries > 0) ::usleep(10'000);
    gone = true;
    for (const std::string& group : groups) gone = remove_group(group) && gone;
  }
  return gone;
}

}  // namespace keel
