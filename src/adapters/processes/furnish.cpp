#include "adapters/processes/furnish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "adapters/processes/remains.h"
#include "adapters/processes/task_files.h"

namespace keel {
namespace {

constexpr const char* path_default = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Access owned(const Owner& owner) { return {0700, owner.uid, owner.gid}; }

// "a/b/c" -> a, b, c; nothing where the path could lead anywhere else.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    const bool plain =
        !part.empty() && part != "." && part != ".." && part.find('\0') == std::string::npos;
    if (!plain) return {};
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

Result<Done, std::string> write_copy(int directory, const std::string& name, std::string_view bytes,
                                     bool executable, const Owner& owner) {
  const Descriptor fd(::openat(directory, name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return failure(name);
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failure(name);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fchmod(fd.get(), executable ? 0755 : 0644) != 0) return failure(name);
  if (::fchown(fd.get(), owner.uid, owner.gid) != 0) return failure(name);
  return Done{};
}

Result<Done, std::string> place_file(int work, const TakenFile& file, const Owner& owner,
                                     const FileCache& files) {
  const std::vector<std::string> parts = parts_of(file.path);
  if (parts.empty()) return file.path + ": is no path within the working directory";
  TRY(cached, files.read(file.digest));
  TRY(directory, open_directory(work, "."));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    TRY(next, make_directory(directory.get(), parts[i], {0755, owner.uid, owner.gid}));
    directory = std::move(next);
  }
  return write_copy(directory.get(), parts.back(), cached.bytes, file.executable, owner);
}

bool is_text(const std::string& text) { return text.find('\0') == std::string::npos; }

Result<std::map<std::string, std::string>, std::string> environment_of(const PrepareOrder& order,
                                                                       const TaskPlaces& places,
                                                                       const Account& account) {
  std::map<std::string, std::string> env;
  for (const auto& [name, value] : order.env) {
    if (name.empty() || name.find('=') != std::string::npos || !is_text(name) || !is_text(value)) {
      return "environment: \"" + name + "\" cannot be a variable";
    }
    env.emplace(name, value);  // The first of two is the one that counts.
  }
  // What a person may choose otherwise.
  env.emplace("PATH", path_default);
  env.emplace("HOME", account.home.empty() ? places.work : account.home);
  env.emplace("USER", account.name);
  env.emplace("LOGNAME", account.name);
  env.emplace("SHELL", account.shell);
  env.emplace("TMPDIR", places.scratch);
  // What the platform relies on.
  env["PWD"] = places.work;
  env["KEEL_OUTPUT_DIR"] = places.outputs;
  env["KEEL_CHECKPOINT_DIR"] = places.checkpoints;
  env[task_mark] = print(order.key);
  return env;
}

}  // namespace

Result<Done, std::string> furnish(int task, const PrepareOrder& order, const FileCache& files) {
  for (const char* name : {work_directory, outputs_directory, scratch_directory}) {
    TRY(removed, remove_tree(task, name));
  }
  TRY(log, make_directory(task, log_directory, closed));
  TRY(outputs, make_directory(task, outputs_directory, owned(order.owner)));
  TRY(scratch, make_directory(task, scratch_directory, owned(order.owner)));
  TRY(work, make_directory(task, work_directory, closed));
  for (const TakenFile& file : order.spec.files) {
    TRY(placed, place_file(work.get(), file, order.owner, files));
  }
  TRY(handed_over, make_directory(task, work_directory, owned(order.owner)));
  return Done{};
}

Result<v1::Launch, std::string> launch_of(const PrepareOrder& order, const TaskPlaces& places,
                                          const Account& account) {
  TRY(env, environment_of(order, places, account));
  v1::Launch launch;
  launch.set_task(print(order.key));
  launch.set_program(order.spec.program);
  for (const std::string& arg : order.spec.args) {
    if (!is_text(arg)) return std::string("args: an argument holds a zero byte");
    launch.add_args(arg);
  }
  for (const auto& [name, value] : env) launch.add_env(name + "=" + value);
  launch.set_work_dir(places.work);
  launch.set_uid(order.owner.uid);
  launch.set_gid(order.owner.gid);
  for (const gid_t group : account.groups) launch.add_groups(group);
  launch.set_time_limit_us(order.spec.time_limit.us);
  launch.set_grace_us(order.spec.grace.us);
  launch.set_stop_signal(order.spec.stop_signal);
  return launch;
}

}  // namespace keel
