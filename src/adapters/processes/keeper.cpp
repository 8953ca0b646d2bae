#include "adapters/processes/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "adapters/processes/cgroups.h"
#include "adapters/processes/stop_word.h"
#include "adapters/processes/task_files.h"
#include "model/limits.h"
#include "wire/convert.h"

namespace keel {
namespace {

constexpr std::size_t read_bytes_max = 64 << 10;
constexpr std::size_t report_bytes_max = 16 << 10;

// Files are read again this often even where no change of them is heard.
constexpr Duration tick = seconds(1);

// A launch file that is short of its end may read as one for root, since 0 is not written. So its
// last field must be there, and the working directory must be the user's.
Result<v1::Launch, std::string> read_launch(int directory) {
  v1::Launch launch;
  const Reading reading = read_message(directory, launch_file, launch);
  if (reading != Reading::good) return "launch " + describe(reading);
  if (launch.log_bytes_max() <= 0 || !parse_task_key(launch.task())) {
    return "launch " + describe(Reading::damaged);
  }
  struct stat status {};
  if (::stat(launch.work_dir().c_str(), &status) != 0) return failure(launch.work_dir());
  if (status.st_uid != launch.uid()) {
    return launch.work_dir() + ": does not belong to the task's user";
  }
  return launch;
}

bool read_chunk(int fd, char* chunk, std::size_t& size) {
  const ssize_t n = ::read(fd, chunk, read_bytes_max);
  size = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

// Of a task whose directory was cleared away: nobody can order or hear anything there any more.
bool has_no_launch_file(int directory) {
  return ::faccessat(directory, launch_file, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

// True where there was something.
bool skip_all(int fd) {
  char chunk[4096];
  bool some = false;
  while (::read(fd, chunk, sizeof chunk) > 0) some = true;
  return some;
}

}  // namespace

void Keeper::detach() {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::close_range(3, ~0U, 0);
  ::umask(077);
  (void)!::chdir("/");  // Else it keeps a file system busy, no more.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

Keeper::Keeper(Descriptor directory, Descriptor lock, Descriptor log, v1::Launch launch)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      log_directory_(std::move(log)),
      launch_(std::move(launch)),
      log_(log_directory_.get(), launch_.log_bytes_max()) {}

Result<Keeper, std::string> Keeper::open(const std::string& task_directory) {
  TRY(directory, open_directory(task_directory));
  TRY(lock, take_lock(directory.get()));
  TRY(launch, read_launch(directory.get()));
  if (exists(directory.get(), exit_file)) return std::string("the task has ended before");
  v1::ShimIdentity before;
  if (read_message(directory.get(), shim_file, before) != Reading::absent) {
    return std::string("the task was started before");
  }
  TRY(log, open_directory(directory.get(), log_directory));
  Keeper keeper(std::move(directory), std::move(lock), std::move(log), std::move(launch));
  TRY(listening, keeper.listen());
  TRY(named, keeper.write_identity());
  keeper.read_orders();
  return keeper;
}

Result<Done, std::string> Keeper::listen() {
  sigset_t heard;
  ::sigemptyset(&heard);
  ::sigaddset(&heard, SIGCHLD);
  ::sigaddset(&heard, stop_word);
  signals_ = Descriptor(::signalfd(-1, &heard, SFD_NONBLOCK | SFD_CLOEXEC));
  changes_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!signals_) return failure("signalfd");
  // Without it the tick is all that remains, which is enough.
  const std::string self = "/proc/self/fd/" + std::to_string(directory_.get());
  if (changes_) (void)::inotify_add_watch(changes_.get(), self.c_str(), IN_MOVED_TO);
  return Done{};
}

Result<Done, std::string> Keeper::write_identity() {
  const auto self = look_at(::getpid());
  if (!self) return std::string("/proc cannot be read");
  v1::ShimIdentity identity;
  identity.set_pid(self->who.pid);
  identity.set_start_ticks(self->who.start_ticks);
  identity.set_boot_id(boot_id());
  identity.set_task_pid(started_ ? main_.pid : 0);
  identity.set_task_start_ticks(started_ ? main_.start_ticks : 0);
  return write_message(directory_.get(), shim_file, identity, Lasting::process);
}

void Keeper::start() {
  auto spawned = spawn(launch_);
  if (!spawned) {
    ended_ = Exit{.kind = ExitKind::not_started, .text = spawned.error()};
    return;
  }
  task_ = *std::move(spawned);
  children_left_ = true;
  if (const auto living = look_at(task_.pid)) main_ = living->who;
}

Whereabouts Keeper::where() const {
  return {.groups = {launch_.cgroups().begin(), launch_.cgroups().end()}, .ancestor = ::getpid()};
}

void Keeper::notify() { keel::notify(where(), main_, launch_.stop_signal()); }

void Keeper::kill() { kill_living(where()); }

bool Keeper::left() const {
  return children_left_ || !std::ranges::all_of(launch_.cgroups(), is_empty);
}

bool Keeper::heeding() const {
  return std::ranges::any_of(find_living(where()), [this](const Identity& who) {
    return catches(who.pid, launch_.stop_signal());
  });
}

// Both files are read again whenever something changed in the directory, and with each tick.
void Keeper::read_orders() {
  read_at_ = boot_now();
  v1::Lease lease;
  // A lease that cannot be read extends nothing.
  if (read_message(directory_.get(), lease_file, lease) == Reading::good) {
    lease_ = Instant{lease.until_us()};
  }
  if (!stop_ && has_no_launch_file(directory_.get())) stop_ = StopCause::superseded;
  v1::StopOrder order;
  const Reading reading = read_message(directory_.get(), stop_file, order);
  if (reading == Reading::absent) return;
  const auto cause = from_pb(order.cause());
  // Somebody wanted it stopped, if no longer legibly why.
  if (!stop_) stop_ = reading == Reading::good && cause ? *cause : StopCause::canceled;
}

void Keeper::wait(Instant until) {
  const Instant now = boot_now();
  const std::int64_t span = std::clamp<std::int64_t>(until.us - now.us, 0, tick.us);
  // A closed descriptor is -1 and ignored by poll.
  pollfd waits[] = {{signals_.get(), POLLIN, 0},
                    {changes_.get(), POLLIN, 0},
                    {task_.out.get(), POLLIN, 0},
                    {task_.error.get(), POLLIN, 0},
                    {task_.report.get(), POLLIN, 0}};
  const int timeout_ms = static_cast<int>((span + 999) / 1000);
  (void)::poll(waits, std::size(waits), timeout_ms);  // All is looked at in any case.
  read_signals();
  const bool changed = changes_ && skip_all(changes_.get());
  if (changed || boot_now() - read_at_ >= tick) {
    read_orders();
    // The disk was full when it was first said.
    if (started_ && !told_) told_ = write_identity().has_value();
  }
  read_report();
  read_output();
  reap();
}

// That a child ended is seen when they are reaped.
void Keeper::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (const auto cause = heard_stop(signal); cause && !stop_) stop_ = cause;
  }
}

void Keeper::read_output() {
  char chunk[read_bytes_max];
  const Instant wall = wall_now();
  for (const bool error : {false, true}) {
    Descriptor& stream = error ? task_.error : task_.out;
    if (!stream) continue;
    std::size_t size = 0;
    if (!read_chunk(stream.get(), chunk, size)) stream = Descriptor();
    if (size > 0) log_.add(error, {chunk, size}, wall);
  }
  log_.tick(wall);
}

void Keeper::read_report() {
  if (!task_.report) return;
  char chunk[read_bytes_max];
  std::size_t size = 0;
  const bool open = read_chunk(task_.report.get(), chunk, size);
  if (report_.size() < report_bytes_max) report_.append(chunk, size);
  if (!open) end_report();
}

// The child has become the program, or never will.
void Keeper::end_report() {
  task_.report = Descriptor();
  std::size_t begin = 0;
  for (std::size_t end = report_.find('\n'); end != std::string::npos;
       end = report_.find('\n', begin)) {
    const std::string text = report_.substr(begin + 2, end - begin - 2);
    if (report_[begin] == 'N') log_.note(text, wall_now());
    if (report_[begin] == 'E') {
      ended_ =
          Exit{.kind = ExitKind::not_started, .text = text.substr(0, limits::exit_text_bytes_max)};
    }
    begin = end + 1;
  }
  if (ended_) return;
  started_ = true;
  started_at_ = boot_now();
  told_ = write_identity().has_value();
}

void Keeper::reap() {
  for (;;) {
    int status{};
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) {
      children_left_ = pid == 0;
      return;
    }
    if (pid == task_.pid) end_main(status);
  }
}

void Keeper::end_main(int status) {
  // Its last words may say that it never was the program.
  read_report();
  if (task_.report) end_report();
  if (ended_) return;
  Exit exit{.kind = ExitKind::exited, .code = WEXITSTATUS(status)};
  if (WIFSIGNALED(status)) exit = {.kind = ExitKind::signaled, .code = WTERMSIG(status)};
  const bool failed = exit.kind == ExitKind::signaled || exit.code != 0;
  exit.out_of_memory = failed && std::ranges::any_of(launch_.cgroups(), [](const auto& group) {
                         return out_of_memory_kills(group) > 0;
                       });
  ended_ = exit;
}

Result<Done, std::string> Keeper::record(const Exit& exit) {
  // A process that cannot be killed may hold the pipes for ever: what is there now is taken.
  constexpr int chunks_max = 64;  // a pipe holds at most 1 MiB
  for (int i = 0; i < chunks_max; ++i) read_output();
  log_.finish(wall_now());
  v1::ExitRecord record;
  *record.mutable_exit() = to_pb(exit);
  record.set_started_us(started_at_.us);
  record.set_ended_us(boot_now().us);
  record.set_boot_id(boot_id());
  if (has_no_launch_file(directory_.get())) return Done{};  // nobody is there to read it
  TRY(written, write_message(directory_.get(), exit_file, record, Lasting::power));
  // Else the next record, which says that it is clean now, waits for room on a full disk.
  constexpr std::size_t as_much_again = 4096;
  if (!exit.clean) (void)make_room(directory_.get(), exit_file, as_much_again);
  return Done{};
}

}  // namespace keel
