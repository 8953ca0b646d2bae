#include "adapters/processes/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <sstream>

namespace keel {
namespace {

Instant clock_now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return Instant{std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000};
}

std::optional<std::string> read_proc(const std::string& path) {
  auto text = read_file(AT_FDCWD, path);
  if (!text) return std::nullopt;
  return *std::move(text);
}

}  // namespace

Instant boot_now() { return clock_now(CLOCK_BOOTTIME); }
Instant wall_now() { return clock_now(CLOCK_REALTIME); }

const std::string& boot_id() {
  static const std::string id = [] {
    std::string text = read_proc("/proc/sys/kernel/random/boot_id").value_or("");
    return text.substr(0, text.find('\n'));
  }();
  return id;
}

std::optional<Living> look_at(pid_t pid) {
  const auto text = read_proc("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return std::nullopt;
  // "PID (NAME) STATE PPID …": the name is the program's to choose and may hold brackets.
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text->substr(name_end + 1));
  std::string state;
  Living living{.who = {.pid = pid, .start_ticks = 0}};
  fields >> state >> living.parent;
  std::string skipped;
  for (int field = 5; field < 20; ++field) fields >> skipped;
  int threads{};
  fields >> threads >> skipped;
  if (!(fields >> living.who.start_ticks)) return std::nullopt;
  // One whose first thread has ended while others go on looks like a zombie as well.
  living.zombie = (state == "Z" && threads <= 1) || state == "X";
  return living;
}

std::vector<Living> everybody() {
  std::vector<Living> all;
  const Descriptor proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& name : names_in(proc.get())) {
    pid_t pid{};
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) continue;
    if (const auto living = look_at(pid)) all.push_back(*living);
  }
  std::ranges::sort(all, {}, [](const Living& living) { return living.who; });
  return all;
}

std::vector<std::string> command_line(pid_t pid, uid_t user) {
  const std::string directory = "/proc/" + std::to_string(pid);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || status.st_uid != user) return {};
  std::vector<std::string> words;
  std::istringstream line(read_proc(directory + "/cmdline").value_or(""));
  for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  return words;
}

Descriptor hold(const Identity& who) {
  Descriptor fd(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));
  if (!fd) return fd;
  // Held first and looked at then: what was seen cannot be somebody else by the time of use.
  const auto living = look_at(who.pid);
  if (!living || living->who != who) return Descriptor();
  return fd;
}

void signal_held(const Descriptor& held, int signal) {
  if (held) ::syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0);
}

void signal_one(const Identity& who, int signal) { signal_held(hold(who), signal); }

bool catches(pid_t pid, int signal) {
  const auto text = read_proc("/proc/" + std::to_string(pid) + "/status");
  if (!text) return false;
  const std::size_t at = text->find("SigCgt:\t");
  if (at == std::string::npos) return false;
  std::uint64_t mask{};
  const char* const first = text->data() + at + 8;
  std::from_chars(first, text->data() + text->size(), mask, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

}  // namespace keel
