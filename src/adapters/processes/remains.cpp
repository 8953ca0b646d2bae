#include "adapters/processes/remains.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include "adapters/processes/guard.h"

namespace keel {
namespace {

bool carries_mark(pid_t pid, const Whereabouts& where) {
  const std::string directory = "/proc/" + std::to_string(pid);
  struct stat status {};
  // Only the task's own user can have put the mark there honestly.
  if (::stat(directory.c_str(), &status) != 0 || status.st_uid != where.uid) return false;
  const auto environment = read_file(AT_FDCWD, directory + "/environ");
  if (!environment || !*environment) return false;
  const std::string entry = std::string(task_mark) + "=" + where.mark + '\0';
  const std::size_t at = (**environment).find(entry);
  return at != std::string::npos && (at == 0 || (**environment)[at - 1] == '\0');
}

bool is_guard(pid_t pid) {
  const auto name = read_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/comm");
  return name && *name && **name == std::string(guard_name) + "\n";
}

// All below `ancestor`. Those whose parent died are its children again, since it is a subreaper.
void add_descendants(const std::vector<Living>& all, pid_t ancestor, std::set<Identity>& found) {
  std::multimap<pid_t, const Living*> children;
  for (const Living& living : all) children.emplace(living.parent, &living);
  std::vector<pid_t> generation{ancestor};
  while (!generation.empty()) {
    std::vector<pid_t> next;
    for (const pid_t parent : generation) {
      const auto [first, last] = children.equal_range(parent);
      for (auto child = first; child != last; ++child) {
        next.push_back(child->second->who.pid);
        if (!child->second->zombie) found.insert(child->second->who);
      }
    }
    generation = std::move(next);
  }
}

}  // namespace

std::vector<Identity> find_living(const Whereabouts& where) {
  std::set<Identity> found;
  for (const std::string& group : where.groups) {
    for (const pid_t pid : members(group)) {
      const auto living = look_at(pid);
      if (living && !living->zombie) found.insert(living->who);
    }
  }
  if (where.ancestor == 0 && where.mark.empty()) return {found.begin(), found.end()};
  const std::vector<Living> all = everybody();
  if (where.ancestor != 0) add_descendants(all, where.ancestor, found);
  if (!where.mark.empty()) {
    for (const Living& living : all) {
      if (!living.zombie && carries_mark(living.who.pid, where)) found.insert(living.who);
    }
  }
  return {found.begin(), found.end()};
}

bool has_shim(const std::string& task) {
  return std::ranges::any_of(everybody(), [&](const Living& living) {
    const auto line = command_line(living.who.pid, ::geteuid());
    return !living.zombie && line.size() == 2 && line[1].ends_with("/" + task) &&
           !is_guard(living.who.pid);
  });
}

void kill_living(const Whereabouts& where) {
  for (const std::string& group : where.groups) kill_members(group);
  // Stopped first, so that nobody forks faster than we kill.
  constexpr int passes_max = 20;
  std::set<Identity> stopped;
  for (int pass = 0; pass < passes_max; ++pass) {
    const std::size_t before = stopped.size();
    for (const Identity& who : find_living(where)) {
      if (stopped.insert(who).second) signal_one(who, SIGSTOP);
    }
    if (stopped.size() == before) break;
  }
  for (const Identity& who : stopped) signal_one(who, SIGKILL);
}

void notify(const Whereabouts& where, const Identity& main, int signal) {
  bool caught = false;
  for (const Identity& who : find_living(where)) {
    if (!catches(who.pid, signal)) continue;
    signal_one(who, signal);
    caught = true;
  }
  if (!caught) signal_one(main, signal);
}

}  // namespace keel
