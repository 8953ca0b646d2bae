#include "sim/world.h"

#include <algorithm>

#include "base/check.h"
#include "sim/checkers/violation.h"
#include "sim/host.h"
#include "sim/people.h"
#include "sim/plane.h"

namespace keel::sim {
namespace {

constexpr Duration look_after_every = seconds(1);
constexpr Duration good_times = hours(6);  // within which everything must be over

Shape draw_shape(Random& chance) {
  // Most worlds are small, so that there are many; some are large, so that there is more in them.
  const bool large = chance.one_in(10);
  return {.planes = chance.between(1, 3),
          .hosts = chance.between(1, large ? 12 : 4),
          .jobs = chance.between(1, large ? 60 : 12),
          .length = minutes(chance.between(5, large ? 90 : 20))};
}

Policy draw_policy(Random& chance) {
  Policy policy;
  policy.heartbeat = seconds(chance.between(2, 15));
  policy.silence = policy.heartbeat + policy.heartbeat + policy.heartbeat;
  policy.claim_for = seconds(chance.between(5, 60));
  policy.grace_max = seconds(chance.between(20, 120));
  policy.disconnect_stop = minutes(chance.between(1, 10));
  policy.candidates_per_turn_max = static_cast<std::size_t>(chance.between(1, 20));
  policy.inputs_per_turn_max = static_cast<std::size_t>(chance.between(1, 64));
  policy.duties_per_turn_max = static_cast<std::size_t>(chance.between(1, 20));
  return policy;
}

}  // namespace

World::World(std::uint64_t seed, std::ostream* out)
    : chance(seed),
      shape(draw_shape(chance)),
      policy(draw_policy(chance)),
      faults(chance),
      trace(out),
      network(agenda, faults, chance),
      rows(std::make_shared<ModelRows>()) {
  for (int i = 1; i <= shape.planes; ++i) planes.push_back(std::make_unique<Plane>(*this, i));
  for (int i = 1; i <= shape.hosts; ++i) {
    const auto devices =
        i == 1 ? devices_of_largest : static_cast<int>(chance.between(0, devices_of_largest));
    hosts.push_back(std::make_unique<Host>(*this, i, devices));
  }
  people = std::make_unique<People>(*this);
  if (faults.has(Fault::agent_disk_full)) checkers.jobs.disks_fill();
}

World::~World() = default;

Plane* World::leading() const {
  Plane* newest = nullptr;
  for (const auto& plane : planes) {
    if (plane->is_leading() && (newest == nullptr || plane->term() > newest->term())) {
      newest = plane.get();
    }
  }
  return newest;
}

Plane* World::dialed() {
  if (!faults.strikes(Fault::wrong_plane)) return leading();
  return planes.at(static_cast<std::size_t>(chance.between(0, shape.planes - 1))).get();
}

// Once a second: what may befall each process and host, and what their keepers do about it.
void World::look_after_planes() {
  for (const auto& plane : planes) {
    if (!plane->is_leading()) continue;
    if (faults.strikes(Fault::plane_killed)) plane->kill();
    if (faults.strikes(Fault::plane_paused)) plane->pause(seconds(chance.between(1, 600)));
  }
  look_after_store();
  const auto any = static_cast<std::size_t>(chance.between(0, shape.planes - 1));
  if (leading() == nullptr ? faults.healed() || chance.one_in(5)
                           : faults.strikes(Fault::takeover)) {
    planes.at(any)->begin();
  }
  for (const auto& host : hosts) {
    if (!host->has_agent() && (faults.healed() || chance.one_in(10))) host->start_agent();
    if (faults.strikes(Fault::agent_killed)) host->kill_agent();
    if (faults.strikes(Fault::agent_frozen)) host->freeze_agent(seconds(chance.between(1, 3600)));
    if (faults.strikes(Fault::agent_disk_lost)) host->lose_disk();
    if (faults.strikes(Fault::agent_disk_full)) host->fill_disk(seconds(chance.between(1, 300)));
    if (faults.strikes(Fault::host_restarted)) host->restart();
    if (faults.strikes(Fault::shim_killed)) host->kill_a_shim();
  }
  agenda.after(look_after_every, [this] { look_after_planes(); });
}

// Somebody copies the store now and then; and somebody puts a copy back, mostly the newest, with
// all keelds ended, and says so.
void World::look_after_store() {
  if (!faults.has(Fault::store_put_back)) return;
  const bool reserved = std::ranges::any_of(
      rows->jobs, [](const auto& one) { return one.second.state == JobState::reserved; });
  if (chance.one_in(reserved ? 10 : 200)) {
    if (copy_ && (!older_copy_ || chance.one_in(10))) older_copy_ = std::move(copy_);
    copy_ = std::make_unique<Copy>(*rows, checkers.jobs, checkers.promises);
  }
  if (!copy_ || !faults.strikes(Fault::store_put_back)) return;
  for (const auto& plane : planes) plane->kill();
  const bool older = older_copy_ && chance.one_in(4);
  const Copy& copy = older ? *older_copy_ : *copy_;
  ++put_back;
  say("world", older ? "the store is put back, from an older copy" : "the store is put back");
  static_cast<ModelContents&>(*rows) = copy.rows;
  const Instant wall = agenda.now() + hours(24 * 365 * 50);
  check(ModelStore(rows).mark_restored(wall).has_value(), "the obvious store can be marked");
  checkers.put_back(copy.jobs, copy.promises, *rows);
}

void World::play(Instant end) {
  while (agenda.step(end)) {
  }
}

void World::run() {
  people->begin();
  look_after_planes();
  play(Instant{shape.length.us});
  faults.heal();
  say("world", "heals");
  for (const auto& plane : planes) plane->go_on();
  for (const auto& host : hosts) host->thaw();
  const Instant end = agenda.now() + good_times;
  const auto is_over = [&] {
    return people->content() && checkers.jobs.all_over() && checkers.devices.nothing_runs() &&
           checkers.devices.nothing_held() &&
           std::ranges::all_of(hosts, [](const auto& host) { return host->is_idle(); });
  };
  while (!is_over() && agenda.now() < end) play(agenda.now() + seconds(10));
  judge();
}

void World::judge() {
  for (const auto& host : hosts) host->say_claims();
  expect(people->content(), "L1", "somebody still waits for an answer");
  expect(checkers.jobs.all_over(), "L1", checkers.jobs.unfinished());
  expect(checkers.devices.nothing_runs(), "L2", "a process is left");
  expect(checkers.devices.nothing_held(), "L3", "a device is still held");
  for (const auto& host : hosts) {
    expect(host->is_idle(), "L2", host->node().name + " still has" + host->what_is_left());
  }
  checkers.promises.kept(*rows);
  checkers.traffic.judge(hosts.size(), agenda.now() - Instant{}, policy.heartbeat);
}

}  // namespace keel::sim
