// A host's tasks: what LocalRuntime and keel-shim do with real files and processes.
#include <csignal>

#include "base/check.h"
#include "sim/host.h"
#include "sim/people.h"
#include "sim/world.h"

namespace keel::sim {
namespace {

constexpr Duration spawn_max = milliseconds(20);
constexpr Duration kill_max = milliseconds(50);
constexpr Duration kill_takes_long_max = minutes(3);

Exit lost(std::string text) {
  return {.kind = ExitKind::lost, .clean = true, .text = std::move(text)};
}

}  // namespace

Result<Done, RuntimeError> Host::prepare(const PrepareOrder& order) {
  if (is_full()) return RuntimeError{"No space left on device"};
  if (world_.faults.strikes(Fault::prepare_failed)) return RuntimeError{"a file did not come"};
  const auto [records, fresh] = disk_.tasks.try_emplace(order.key);
  if (records->second.exit) return RuntimeError{"the task has ended before"};
  records->second.time_limit = order.spec.time_limit;
  records->second.grace = order.spec.grace;
  return Done{};
}

Result<Done, RuntimeError> Host::start(const TaskKey& key, Instant lease) {
  const auto found = disk_.tasks.find(key);
  if (found == disk_.tasks.end()) return RuntimeError{"the task is not prepared"};
  Disk::Records& records = found->second;
  if (records.exit || records.boot != 0 || shims_.contains(key)) return Done{};
  if (is_full()) return RuntimeError{"No space left on device"};
  records.lease = lease;
  records.boot = boot_;
  const Claim& claim = disk_.claims.at(key);
  Shim& shim = shims_[key];
  shim.terms = {.time_limit = records.time_limit, .grace = records.grace};
  shim.devices = claim.order.devices;
  shim.token = claim.token;
  wake_shim(key, world_.agenda.now() + microseconds(chance_.between(1, spawn_max.us)));
  return Done{};
}

void Host::extend(const TaskKey& key, Instant lease) {
  const auto found = disk_.tasks.find(key);
  if (found == disk_.tasks.end() || is_full()) return;
  found->second.lease = lease;
  wake_shim(key, world_.agenda.now());
}

void Host::stop(const TaskKey& key, StopCause cause) {
  const auto records = disk_.tasks.find(key);
  const auto shim = shims_.find(key);
  if (records == disk_.tasks.end()) {
    if (shim != shims_.end()) kill_what_is_left(key);
    return;
  }
  if (records->second.stop) return;
  if (!is_full()) {
    records->second.stop = cause;
  } else if (shim != shims_.end() && !shim->second.stop) {
    shim->second.stop = cause;  // by word of mouth
  }
  wake_shim(key, world_.agenda.now());
}

std::vector<Observed> Host::observe(const std::vector<StartedTask>& started) {
  std::map<TaskKey, Observed> all;
  for (auto& [key, records] : disk_.tasks) all[key] = look(key, records);
  for (const StartedTask& task : started) {
    if (all.contains(task.key)) continue;
    const auto shim = shims_.find(task.key);
    Exit exit = lost("its directory is gone");
    exit.clean = shim == shims_.end() || !shim->second.child;
    if (!exit.clean) kill_what_is_left(task.key);
    all[task.key] = {task.key, Observed::Phase::ended, exit};
  }
  for (const auto& [key, shim] : shims_) {
    if (!shim.child || all.contains(key)) continue;
    all[key] = {key, Observed::Phase::running, {}};
    if (!shim.dead) continue;
    kill_what_is_left(key);
    all[key] = {key, Observed::Phase::ended, {.kind = ExitKind::lost, .text = "its shim died"}};
  }
  std::vector<Observed> sorted;
  for (auto& [key, task] : all) sorted.push_back(std::move(task));
  return sorted;
}

Observed Host::look(const TaskKey& key, Disk::Records& records) {
  const auto shim = shims_.find(key);
  const bool alive = shim != shims_.end() && !shim->second.dead;
  if (!alive && shim != shims_.end()) {
    kill_what_is_left(key);
    Exit exit = records.exit.value_or(lost("its shim died"));
    exit.clean = false;
    return {key, Observed::Phase::ended, exit};
  }
  if (records.exit) {
    Exit exit = *records.exit;
    exit.clean = exit.clean || !alive;  // nothing of it is left
    if (!is_full()) records.exit = exit;
    return {key, Observed::Phase::ended, exit};
  }
  if (alive) {
    return {key, shim->second.started ? Observed::Phase::running : Observed::Phase::starting, {}};
  }
  if (records.boot == 0) return {key, Observed::Phase::prepared, {}};
  const Exit exit = lost(records.boot == boot_ ? "its shim died" : "the host restarted");
  if (!is_full()) records.exit = exit;
  return {key, Observed::Phase::ended, exit};
}

Result<Done, RuntimeError> Host::commit(const TaskKey& key) {
  const auto found = disk_.tasks.find(key);
  if (found == disk_.tasks.end()) return RuntimeError{"nothing is left of it"};
  if (!found->second.exit || !found->second.exit->clean) return RuntimeError{"it has no record"};
  if (is_full() || world_.faults.strikes(Fault::commit_failed)) return RuntimeError{"disk"};
  return Done{};
}

void Host::release(const TaskKey& key) {
  const auto found = disk_.tasks.find(key);
  if (found == disk_.tasks.end() || shims_.contains(key)) return;
  const Disk::Records& records = found->second;
  const bool over = records.exit ? records.exit->clean : records.boot == 0;
  if (over) disk_.tasks.erase(found);
}

void Host::wake_shim(const TaskKey& key, Instant when) {
  const auto found = shims_.find(key);
  if (found == shims_.end() || when >= found->second.wake_at) return;
  found->second.wake_at = when;
  world_.agenda.at(when, [this, key, when] {
    const auto shim = shims_.find(key);
    if (shim == shims_.end() || shim->second.wake_at != when) return;
    shim->second.wake_at = never;
    step_shim(key);
  });
}

void Host::step_shim(const TaskKey& key) {
  Shim& shim = shims_.at(key);
  if (shim.waits_for_room || shim.dead) return;
  const auto records = disk_.tasks.find(key);
  if (shim.reads_disk && records != disk_.tasks.end()) {
    shim.lease = records->second.lease;
    if (!shim.stop) shim.stop = records->second.stop;
  }
  const ShimStep now = step(shim.state, shim.terms,
                            {.now = clock_->now(),
                             .lease = shim.lease,
                             .stop = shim.stop,
                             .started = shim.started,
                             .ended = shim.ended,
                             .left = shim.child,
                             .heeding = false});
  shim.state = now.state;
  obey(key, shim, now.orders);
}

void Host::obey(const TaskKey& key, Shim& shim, const ShimOrders& orders) {
  if (orders.start) {
    const Program program = world_.people->program_of(key);
    shim.child = shim.started = true;
    shim.heeds_notice = program.heeds_notice;
    shim.leaves_some = program.leaves_some;
    world_.say(node_.name, print(key) + " runs");
    world_.checkers.began({key, node_, shim.devices, shim.token});
    end_process(key, shim, program.length, program.exit);
    wake(world_.agenda.now());
  }
  if (orders.notify && shim.heeds_notice && shim.child) {
    end_process(key, shim, Duration{chance_.between(1, seconds(5).us)},
                {.kind = ExitKind::signaled, .code = SIGTERM});
  }
  if (orders.kill && shim.child) kill_what_is_left(key);
  if (orders.record) {
    shim.waits_for_room = false;
    const auto records = disk_.tasks.find(key);
    if (shim.reads_disk && records != disk_.tasks.end()) {
      shim.waits_for_room = is_full();
      if (shim.waits_for_room) {
        const ShimOrders rest{
            .record = orders.record, .leave = orders.leave, .wake_at = orders.wake_at};
        return world_.agenda.at(full_until_, [this, key, rest] {
          if (const auto later = shims_.find(key); later != shims_.end()) {
            obey(key, later->second, rest);
          }
        });
      }
      records->second.exit = orders.record;
    }
    world_.say(node_.name, print(key) + " recorded: " + describe(*orders.record));
    wake(world_.agenda.now());
  }
  if (orders.leave) return remove_shim(key);
  wake_shim(key,
            std::max(clock_->true_time(orders.wake_at), world_.agenda.now() + milliseconds(1)));
}

// The main process ends in `wait`, unless something ends it sooner.
void Host::end_process(const TaskKey& key, Shim& shim, Duration wait, const Exit& exit) {
  const Instant when = world_.agenda.now() + wait;
  if (when >= shim.ends_at) return;
  shim.ends_at = when;
  shim.end = exit;
  world_.agenda.at(when, [this, key, when] {
    const auto found = shims_.find(key);
    if (found == shims_.end() || found->second.ended || found->second.ends_at != when) return;
    main_ended(key, *found->second.end);
    wake_shim(key, world_.agenda.now());
  });
}

void Host::main_ended(const TaskKey& key, const Exit& exit) {
  Shim& shim = shims_.at(key);
  shim.ended = exit;
  world_.checkers.main_ended(key, exit);
  if (shim.leaves_some && !shim.kill_at) return world_.say(node_.name, print(key) + " leaves some");
  shim.child = false;
  world_.say(node_.name, print(key) + " is over");
  world_.checkers.ended(key);
}

Duration Host::time_to_kill() {
  const bool long_one = world_.faults.strikes(Fault::kill_takes_long);
  return Duration{chance_.between(1, long_one ? kill_takes_long_max.us : kill_max.us)};
}

// SIGKILL to all of a task's processes, once: saying it again does not make it quicker.
void Host::kill_what_is_left(const TaskKey& key) {
  Shim& shim = shims_.at(key);
  if (!shim.child || shim.kill_at) return;
  shim.kill_at = world_.agenda.now() + time_to_kill();
  world_.checkers.devices.killed(key);
  world_.agenda.at(*shim.kill_at, [this, key, when = *shim.kill_at] {
    const auto found = shims_.find(key);
    if (found == shims_.end() || found->second.kill_at != when || !found->second.child) return;
    if (!found->second.ended) {
      main_ended(key, {.kind = ExitKind::signaled, .code = SIGKILL});
    } else {
      found->second.child = false;
      world_.say(node_.name, print(key) + " is over");
      world_.checkers.ended(key);
    }
    if (found->second.dead) return remove_shim(key);
    wake_shim(key, world_.agenda.now());
  });
}

void Host::remove_shim(const TaskKey& key) {
  shims_.erase(key);
  wake(world_.agenda.now());
}

}  // namespace keel::sim
