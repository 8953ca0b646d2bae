#include "adapters/processes/local_runtime.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "adapters/processes/furnish.h"
#include "adapters/processes/log_reader.h"
#include "adapters/processes/outputs.h"
#include "adapters/processes/remains.h"
#include "adapters/processes/start_shim.h"
#include "adapters/processes/stop_word.h"
#include "adapters/processes/task_files.h"
#include "keel/v1/local.pb.h"
#include "wire/convert.h"

namespace keel {
namespace {

Result<Done, RuntimeError> told(Result<Done, std::string> result) {
  if (!result) return RuntimeError{std::move(result).error()};
  return Done{};
}

// Its text has a bound (limits.h), the rest are numbers and a boot's id: with much to spare.
constexpr std::size_t exit_record_bytes_max = 4096;
constexpr std::size_t lease_bytes_max = 64;

Exit lost(std::string text, bool clean) {
  return {.kind = ExitKind::lost, .clean = clean, .text = std::move(text)};
}

// Whom this host can run tasks for. -1 would mean "stay who you are" to the kernel.
Result<Done, std::string> check_owner(const Owner& owner) {
  if (owner.uid == static_cast<uid_t>(-1) || owner.gid == static_cast<gid_t>(-1)) {
    return std::string("the job's user has no valid uid");
  }
  const uid_t own = ::geteuid();
  if (own == 0 || own == owner.uid) return Done{};
  return "this agent runs as uid " + std::to_string(own) + " and cannot run a job of uid " +
         std::to_string(owner.uid);
}

Result<v1::Launch, std::string> read_launch(int task) {
  v1::Launch launch;
  const Reading reading = read_message(task, launch_file, launch);
  if (reading != Reading::good) return "launch " + describe(reading);
  return launch;
}

Result<Done, std::string> write_lease(int task, Instant until) {
  v1::Lease lease;
  lease.set_until_us(until.us);
  // Boot time: after a power cut it means nothing, so it need not survive one.
  return write_message(task, lease_file, lease, Lasting::process);
}

Result<Done, std::string> write_end(int task, const Exit& exit) {
  v1::ExitRecord record;
  *record.mutable_exit() = to_pb(exit);
  record.set_ended_us(boot_now().us);
  record.set_boot_id(boot_id());
  return write_message(task, exit_file, record, Lasting::power);
}

// Kills until nobody is left, for a moment at most. The next observation goes on.
bool kill_remains(const Whereabouts& where) {
  constexpr int tries_max = 10;
  for (int i = 0; i < tries_max; ++i) {
    kill_living(where);
    if (find_living(where).empty()) return true;
    ::usleep(10'000);
  }
  return false;
}

// As many as one look at a task takes at once.
bool has_descriptors() {
  std::array<Descriptor, 8> some;
  for (Descriptor& one : some) one = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return std::ranges::all_of(some, [](const Descriptor& one) { return bool{one}; });
}

bool is_among(const std::vector<Observed>& tasks, const TaskKey& key) {
  return std::ranges::find(tasks, key, &Observed::key) != tasks.end();
}

// A shim ends within milliseconds of its last record.
bool await_unlocked(int task) {
  constexpr int tries_max = 100;
  for (int i = 0; i < tries_max && is_locked(task); ++i) ::usleep(10'000);
  return !is_locked(task);
}

}  // namespace

LocalRuntime::LocalRuntime(RuntimePlace place, Descriptor state, Descriptor tasks, FileCache files,
                           KeptLogs logs, Watch watch, Cgroups cgroups)
    : place_(std::move(place)),
      state_(std::move(state)),
      tasks_(std::move(tasks)),
      files_(std::move(files)),
      checkpoints_(state_.get(), tasks_.get()),
      logs_(std::move(logs)),
      watch_(std::move(watch)),
      cgroups_(std::move(cgroups)) {}

Result<std::unique_ptr<LocalRuntime>, std::string> LocalRuntime::open(const RuntimePlace& place) {
  TRY(state, make_directory(AT_FDCWD, place.state, passable));
  // Tasks are told absolute paths, and a shim has no working directory of its own.
  char* const real = ::realpath(place.state.c_str(), nullptr);
  if (real == nullptr) return failure(place.state);
  RuntimePlace absolute = place;
  absolute.state = real;
  std::free(real);
  TRY(tasks, make_directory(state.get(), "tasks", passable));
  TRY(files, FileCache::open(absolute.state + "/files"));
  TRY(logs, KeptLogs::open(state.get(), place.logs_kept, boot_now()));
  TRY(watch, Watch::open());
  TRY(cgroups, Cgroups::open(place.cgroup_root, place.cgroup_base));
  return std::unique_ptr<LocalRuntime>(
      new LocalRuntime(std::move(absolute), std::move(state), std::move(tasks), std::move(files),
                       std::move(logs), std::move(watch), std::move(cgroups)));
}

Result<Descriptor, std::string> LocalRuntime::open_task(const TaskKey& key) const {
  return open_directory(tasks_.get(), print(key));
}

Result<Done, RuntimeError> LocalRuntime::prepare(const PrepareOrder& order) {
  return told(make_ready(order));
}

Result<Done, std::string> LocalRuntime::make_ready(const PrepareOrder& order) {
  TRY(owner, check_owner(order.owner));
  if (logs_.has(print(order.key))) return std::string("the task has ended before");
  TRY(task, make_directory(tasks_.get(), print(order.key), passable));
  if (exists(task.get(), exit_file)) return std::string("the task has ended before");
  // Also of a task that is prepared: a restart of the host takes its groups away.
  TRY(groups, cgroups_.make(print(order.key), {.memory = order.spec.memory_per_task,
                                               .cpu = order.spec.cpu_per_task}));
  v1::Launch before;
  const Reading reading = read_message(task.get(), launch_file, before);
  if (reading == Reading::good) return Done{};
  if (reading == Reading::newer) return "launch " + describe(reading);

  const std::string directory = place_.state + "/tasks/" + print(order.key) + "/";
  TRY(made, checkpoints_.make(order.key.job, order.owner));
  TRY(launch, launch_of(order,
                        {.work = directory + work_directory,
                         .outputs = directory + outputs_directory,
                         .scratch = directory + scratch_directory,
                         .checkpoints = place_.state + "/" + Checkpoints::place_of(order.key.job)},
                        account_of(order.owner)));
  for (const std::string& group : groups) launch.add_cgroups(group);
  launch.set_log_bytes_max(place_.log_bytes_max.count);
  TRY(furnished, furnish(task.get(), order, files_));
  TRY(lock, make_lock(task.get()));
  // Its end is to be known also where the task itself fills the disk.
  TRY(room, make_room(task.get(), exit_file, exit_record_bytes_max));
  return write_message(task.get(), launch_file, launch, Lasting::whole);
}

Result<Done, RuntimeError> LocalRuntime::start(const TaskKey& key, Instant lease) {
  const auto task = open_task(key);
  if (!task) return RuntimeError{"the task is not prepared: " + task.error()};
  if (exists(task->get(), exit_file) || exists(task->get(), shim_file) || is_locked(task->get())) {
    return Done{};
  }
  if (!exists(task->get(), launch_file)) return RuntimeError{"the task is not prepared"};
  const auto written = write_lease(task->get(), lease);
  if (!written) return told(written);
  // A full disk then does not end the task by way of its lease.
  (void)make_room(task->get(), lease_file, lease_bytes_max);
  watch_.watch_directory(print(key), task->get());
  const auto started = start_shim(place_.shim, place_.state + "/tasks/" + print(key));
  if (started) return Done{};
  // One that comes late after all must find that it has no task any more.
  const auto lock = take_lock(task->get());
  if (lock && !exists(task->get(), shim_file)) {
    (void)write_end(task->get(), lost(started.error(), true));  // Else it may be asked again.
  }
  return told(started);
}

void LocalRuntime::extend(const TaskKey& key, Instant lease) {
  const auto task = open_task(key);
  if (!task || !exists(task->get(), launch_file)) return;
  (void)write_lease(task->get(), lease);  // Then the old one stays, and ends the task in time.
  watch_.pass_over_own();
}

void LocalRuntime::stop(const TaskKey& key, StopCause cause) {
  const auto task = open_task(key);
  if (!task || !exists(task->get(), launch_file)) {
    if (!task) kill_living({.groups = cgroups_.groups_of(print(key))});
    return;
  }
  if (exists(task->get(), stop_file)) return;
  v1::StopOrder order;
  order.set_cause(to_pb(cause));
  const auto written = write_message(task->get(), stop_file, order, Lasting::power);
  watch_.pass_over_own();
  if (written) return;
  // A full disk: then by word of mouth, and whoever wants it repeats it.
  v1::ShimIdentity shim;
  if (read_message(task->get(), shim_file, shim) != Reading::good) return;
  if (shim.boot_id() == boot_id()) send_stop({shim.pid(), shim.start_ticks()}, cause);
}

std::vector<Observed> LocalRuntime::observe(const std::vector<StartedTask>& started) {
  // Without descriptors nothing can be seen, and from that nothing may be concluded.
  if (!has_descriptors()) return seen_;
  watch_.take();
  not_understood_.clear();
  std::vector<Observed> all;
  for (const std::string& name : names_in(tasks_.get())) {
    const auto key = parse_task_key(name);
    if (!key) continue;
    const auto task = open_directory(tasks_.get(), name);
    if (!task) continue;
    if (!exists(task->get(), launch_file)) {
      put_away(name, task->get());
      continue;
    }
    watch_.watch_directory(name, task->get());
    all.push_back(look(*key, task->get()));
  }
  add_unrecorded(started, all);
  add_strays(all);
  logs_.prune(boot_now());
  std::ranges::sort(all, {}, &Observed::key);
  seen_ = all;
  return all;
}

// Of a task that was cleared away and is claimed no more: its log goes to the others that are kept.
// Where it left none, a crash may have left the beginning of its claim.
void LocalRuntime::put_away(const std::string& task, int directory) {
  if (exists(directory, claim_file)) return;
  if (exists(directory, exit_file)) {
    (void)logs_.take(tasks_.get(), task);  // Else it is tried again.
    return;
  }
  ::unlinkat(directory, name_beside(claim_file).c_str(), 0);
  ::unlinkat(tasks_.get(), task.c_str(), AT_REMOVEDIR);  // Fails where it is being prepared.
}

// A task that runs as the agent's own user can remove its records. It must not get away with it.
void LocalRuntime::add_unrecorded(const std::vector<StartedTask>& started,
                                  std::vector<Observed>& all) const {
  for (const StartedTask& task : started) {
    const auto found = std::ranges::find(all, task.key, &Observed::key);
    const bool forged = found != all.end() && task.ran && found->phase == Observed::Phase::prepared;
    if (found != all.end() && !forged) continue;
    const std::string name = print(task.key);
    const bool gone =
        kill_remains({.groups = cgroups_.groups_of(name), .mark = name, .uid = task.uid});
    if (forged) all.erase(found);
    all.push_back({task.key, Observed::Phase::ended, lost("its records are gone", gone)});
  }
}

// Groups whose task has no directory: this agent's state was lost, or is not that of the agent
// which made them.
void LocalRuntime::add_strays(std::vector<Observed>& all) const {
  for (const std::string& name : cgroups_.tasks()) {
    const TaskKey key = *parse_task_key(name);
    if (exists(tasks_.get(), name) || is_among(all, key)) continue;
    const std::vector<std::string> groups = cgroups_.groups_of(name);
    if (std::ranges::all_of(groups, is_empty)) {
      (void)remove_groups(groups);  // Else it is seen again.
    } else if (has_shim(name)) {
      all.push_back({key, Observed::Phase::running, {}});
    } else {
      // Whoever's task it was: without its shim there is nobody to end it in time.
      const bool gone = kill_remains({.groups = groups});
      all.push_back({key, Observed::Phase::ended, lost("its shim died", gone)});
    }
  }
}

Observed LocalRuntime::look(const TaskKey& key, int task) {
  // The lock first: a shim that is gone wrote its record before it went.
  const bool alive = is_locked(task);
  v1::ExitRecord record;
  const Reading ended = read_message(task, exit_file, record);
  v1::ShimIdentity shim;
  const Reading named = read_message(task, shim_file, shim);
  if (ended == Reading::newer) return leave_alone(key, exit_file);
  if (named == Reading::newer) return leave_alone(key, shim_file);
  // Only what is known to be of an earlier boot is gone without a look.
  const bool rebooted = named == Reading::good && shim.boot_id() != boot_id();
  if (ended != Reading::absent) {
    const auto read = from_pb(record.exit());
    const bool good = ended == Reading::good && read;
    const Exit exit = good ? *read : lost("its exit record " + describe(ended), false);
    // A shim that lives goes on cleaning up by itself.
    if (exit.clean || alive) return {key, Observed::Phase::ended, exit};
    return bury(key, task, rebooted, exit);
  }
  if (alive) {
    if (named == Reading::good) watch_.watch_shim(print(key), {shim.pid(), shim.start_ticks()});
    return {key, shim.task_pid() != 0 ? Observed::Phase::running : Observed::Phase::starting, {}};
  }
  // A shim names itself before it starts anything.
  if (named == Reading::absent) return {key, Observed::Phase::prepared, {}};
  return bury(key, task, rebooted, lost(rebooted ? "the host restarted" : "its shim died", false));
}

// What is not understood proves nothing: neither that it runs nor that it is over.
Observed LocalRuntime::leave_alone(const TaskKey& key, const std::string& file) {
  not_understood_.push_back(print(key) + ": its " + file + " file " + describe(Reading::newer));
  return {key, Observed::Phase::starting, {}};
}

Observed LocalRuntime::bury(const TaskKey& key, int task, bool rebooted, Exit exit) {
  if (!rebooted) {
    v1::Launch launch;
    const Reading reading = read_message(task, launch_file, launch);
    if (reading == Reading::newer) return leave_alone(key, launch_file);
    const bool gone = reading == Reading::good &&
                      kill_remains({.groups = {launch.cgroups().begin(), launch.cgroups().end()},
                                    .mark = launch.task(),
                                    .uid = launch.uid()});
    if (!gone) return {key, Observed::Phase::ended, exit};
  }
  exit.clean = true;
  (void)write_end(task, exit);  // Else it is concluded anew.
  watch_.pass_over_own();
  return {key, Observed::Phase::ended, exit};
}

Result<Done, RuntimeError> LocalRuntime::commit(const TaskKey& key) {
  const auto task = open_task(key);
  if (!task) return RuntimeError{task.error()};
  v1::ExitRecord record;
  if (read_message(task->get(), exit_file, record) != Reading::good || !record.exit().clean()) {
    return RuntimeError{"outputs are committed once the task has ended"};
  }
  const auto launch = read_launch(task->get());
  if (!launch) return RuntimeError{launch.error()};
  const Owner owner{.uid = launch->uid(), .gid = launch->gid()};
  return told(commit_outputs(state_.get(), task->get(), key, owner));
}

// A task that was started may go only once its end is recorded, with nothing left of it.
bool LocalRuntime::may_release(int task) const {
  v1::ExitRecord record;
  const Reading ended = read_message(task, exit_file, record);
  if (ended == Reading::absent) return !exists(task, shim_file) && !is_locked(task);
  return ended == Reading::good && record.exit().clean() && await_unlocked(task);
}

void LocalRuntime::release(const TaskKey& key) {
  const auto task = open_task(key);
  if (!task || !may_release(task->get())) return;
  // A shim that a dead agent started may still come: it must find the lock taken, or no launch
  // file.
  const auto lock = take_lock(task->get());
  if (!lock && exists(task->get(), lock_file)) return;
  (void)remove_groups(cgroups_.groups_of(print(key)));  // Else they are found again, and removed.
  // Each step is tried again by the next release as long as the launch file is there.
  if (!set_outputs_aside(state_.get(), task->get(), key)) return;
  for (const char* name : {work_directory, scratch_directory, stop_file, lease_file, shim_file}) {
    if (!remove_tree(task->get(), name)) return;
  }
  if (!exists(task->get(), exit_file) && !remove_tree(task->get(), log_directory)) return;
  for (const char* name : {launch_file, stop_file, lease_file, shim_file, exit_file}) {
    if (!remove_tree(task->get(), name_beside(name))) return;
  }
  checkpoints_.forget_empty(key);
  for (const char* name : {lock_file, launch_file}) {
    if (!remove_tree(task->get(), name)) return;
  }
  watch_.forget(print(key));
  ::unlinkat(tasks_.get(), print(key).c_str(), AT_REMOVEDIR);  // Fails while a log is kept there.
}

std::optional<LogPart> LocalRuntime::read_log(const TaskKey& key, std::int64_t offset,
                                              std::int64_t limit) {
  auto task = open_task(key);
  if (!task) task = logs_.open_task(print(key));
  if (!task) return std::nullopt;
  const auto log = open_directory(task->get(), log_directory);
  if (!log) return std::nullopt;
  // Before the lines: the record is written after the last of them.
  const bool ended = exists(task->get(), exit_file);
  LogPart part = read_log_lines(log->get(), offset, limit);
  part.end = part.end && ended;
  return part;
}

}  // namespace keel
