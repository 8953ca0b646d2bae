#include "sim/host.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "sim/plane.h"
#include "sim/world.h"

namespace keel::sim {
namespace {

constexpr Duration look_at_least_every = seconds(5);
constexpr Duration dial_again_max = seconds(5);
constexpr Duration prepare_max = milliseconds(500);
constexpr Duration prepare_slow_max = minutes(2);

const Exit killed{.kind = ExitKind::signaled, .code = SIGKILL};

std::string describe(const Report& report) {
  if (!report.full) return "nothing new";
  std::string text = "all";
  for (const TaskReport& task : report.tasks) {
    text += ", " + print(task.key) + " " + std::string(print(task.phase));
  }
  return text;
}

std::string describe(const Duty& duty) {
  constexpr std::array words{"PREPARE", "START", "STOP", "COMMIT", "RELEASE"};
  return words.at(duty.kind.index()) + (" " + print(duty.key));
}

}  // namespace

// Tasks that are made ready aside, in a while.
class Host::Preparing final : public Preparations {
 public:
  Preparing(World& world, Host& host) : world_(world), host_(host) {}

  void begin(const PrepareOrder& order) override {
    const bool slow = world_.faults.strikes(Fault::prepare_slow);
    const Duration wait{host_.chance_.between(1000, slow ? prepare_slow_max.us : prepare_max.us)};
    world_.agenda.after(wait, [this, host = &host_, order, life = host_.life_] {
      if (life != host->life_) return;  // and this is gone
      finished_.emplace_back(order.key, host_.prepare(order));
      host_.wake(world_.agenda.now());
    });
  }
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> take() override {
    return std::exchange(finished_, {});
  }

 private:
  World& world_;
  Host& host_;
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> finished_;
};

Host::Host(World& world, int number, int devices)
    : world_(world),
      node_{"node-" + std::to_string(number)},
      address_("10.0.0." + std::to_string(number)),
      chance_(world.chance.split()) {
  for (int i = 0; i < devices; ++i) {
    devices_.push_back({.id = {node_.name + "-gpu-" + std::to_string(i)},
                        .model = "h100-80gb",
                        .memory = gibibytes(80)});
  }
  disk_.agent_id = draw_id();
  clock_ = std::make_unique<DriftingClock>(world.agenda, Instant{chance_.between(1, hours(1).us)},
                                           chance_.between(-drift_max_ppm, drift_max_ppm));
}

Host::~Host() = default;

std::string Host::draw_id() { return std::to_string(chance_.next()); }

void Host::start_agent() {
  if (runner_) return;
  ++life_;
  mail_.clear();
  connection_.reset();
  frozen_until_ = {};
  preparing_ = std::make_unique<Preparing>(world_, *this);
  NodeInventory inventory{.id = node_,
                          .agent_id = disk_.agent_id,
                          .boot_id = std::to_string(boot_),
                          .address = address_,
                          .cpu = {64'000},
                          .memory = gibibytes(512),
                          .devices = devices_};
  world_.say(node_.name, "agent starts");
  try {
    auto opened = Runner::open(std::move(inventory), {.clock = *clock_,
                                                      .server = *this,
                                                      .runtime = *this,
                                                      .claims = *this,
                                                      .preparations = *preparing_});
    runner_ = std::make_unique<Runner>(*std::move(opened));
  } catch (const Killed&) {
    return;
  }
  dial();
  wake(world_.agenda.now());
}

void Host::kill_agent() {
  if (!runner_) return;
  world_.say(node_.name, "agent ends");
  runner_.reset();
  ++life_;
  if (auto connection = std::exchange(connection_, nullptr)) {
    connection->host_open = false;
    world_.network.cut(connection);
  }
}

void Host::freeze_agent(Duration span) {
  if (!runner_) return;
  world_.say(node_.name, "agent is frozen");
  frozen_until_ = world_.agenda.now() + span;
}

void Host::thaw() {
  frozen_until_ = {};
  wake(world_.agenda.now());
}

void Host::lose_disk() {
  kill_agent();
  world_.say(node_.name, "disk is lost");
  disk_ = Disk{.agent_id = draw_id()};
  for (auto& [key, shim] : shims_) {
    // One whose directory was removed notices; one whose disk went away under it may not.
    shim.reads_disk = false;
    if (chance_.one_in(2) && !shim.stop) shim.stop = StopCause::superseded;
    wake_shim(key, world_.agenda.now() + seconds(1));
  }
}

void Host::fill_disk(Duration span) { full_until_ = world_.agenda.now() + span; }

void Host::restart() {
  kill_agent();
  world_.say(node_.name, "host restarts");
  for (const auto& [key, shim] : std::exchange(shims_, {})) {
    if (shim.child) world_.checkers.ended(key);
  }
  ++boot_;
  clock_ = std::make_unique<DriftingClock>(world_.agenda, Instant{1},
                                           chance_.between(-drift_max_ppm, drift_max_ppm));
}

void Host::kill_a_shim() {
  if (shims_.empty()) return;
  auto one = shims_.begin();
  std::advance(one, chance_.between(0, static_cast<std::int64_t>(shims_.size()) - 1));
  const TaskKey key = one->first;
  world_.say(node_.name, "shim of " + print(key) + " is killed");
  Shim& shim = one->second;
  if (shim.dead) return;
  shim.dead = true;
  if (shim.child && !shim.ended) main_ended(key, killed);
  if (!shim.child) return remove_shim(key);
  kill_what_is_left(key);  // by its guard
  wake(world_.agenda.now());
}

void Host::dial() {
  world_.agenda.after(Duration{chance_.between(1, dial_again_max.us)}, [this, life = life_] {
    if (life != life_ || connection_) return;
    Plane* const plane = world_.dialed();
    if (plane == nullptr || !plane->is_leading()) return dial();
    connection_ = world_.network.connect(*this, *plane);
    hear(ServerConnected{});
  });
}

void Host::disconnected(const std::shared_ptr<Connection>& connection) {
  if (connection != connection_) return;
  connection_.reset();
  hear(ServerDisconnected{});
  dial();
}

void Host::hear(ServerMessage message) {
  if (const auto* told = std::get_if<ServerTold>(&message); told && world_.trace.is_told()) {
    world_.say(node_.name, "hears " + describe(told->duty));
  }
  if (!runner_) return;
  mail_.push_back(std::move(message));
  wake(world_.agenda.now());
}

std::vector<ServerMessage> Host::take() { return std::exchange(mail_, {}); }

void Host::introduce(const NodeInventory& inventory, FencingToken newest) {
  if (!connection_) return;
  world_.network.to_plane(connection_, [connection = connection_, inventory, newest] {
    connection->plane->hello(connection, inventory, newest);
  });
}

void Host::send(const Report& report) {
  if (!connection_) return;
  world_.checkers.traffic.said();
  if (world_.trace.is_told()) world_.say(node_.name, "reports " + describe(report));
  world_.network.to_plane(connection_,
                          [connection = connection_, said = std::make_shared<Report>(report)] {
                            connection->plane->report(connection, *said);
                          });
}

void Host::wake(Instant when) {
  when = std::max({when, frozen_until_, world_.agenda.now()});
  if (!runner_ || when >= wake_at_) return;
  wake_at_ = when;
  world_.agenda.at(when, [this, when] {
    if (when != wake_at_) return;
    wake_at_ = never;
    step_agent();
  });
}

void Host::step_agent() {
  if (!runner_) return;
  if (world_.agenda.now() < frozen_until_) return wake(frozen_until_);
  try {
    runner_->step();
  } catch (const Killed&) {
    return kill_agent();
  }
  const Instant next = clock_->true_time(runner_->next_wake());
  const Instant soon = world_.agenda.now() + milliseconds(1);
  wake(std::clamp(next, soon, world_.agenda.now() + look_at_least_every));
}

void Host::say_claims() const {
  if (!runner_) return world_.say(node_.name, "no agent");
  for (const auto& [key, claim] : runner_->core().claims()) {
    world_.say(node_.name, print(key) + " is claimed, " + std::string(print(claim.phase)) +
                               (claim.started ? ", started" : "") +
                               (claim.exit.clean ? ", clean" : ""));
  }
}

std::string Host::what_is_left() const {
  std::string text;
  for (const auto& [key, shim] : shims_) text += " the shim of " + print(key);
  for (const auto& [key, claim] : disk_.claims) text += " a claim of " + print(key);
  return text;
}

bool Host::is_full() const { return world_.agenda.now() < full_until_; }

template <class Change>
Result<Done, std::string> Host::write_down(Change change) {
  if (is_full()) return std::string("No space left on device");
  // The agent may die with the change on disk, or without it.
  if (runner_ && world_.faults.strikes(Fault::agent_killed_before_write)) throw Killed{};
  change();
  if (runner_ && world_.faults.strikes(Fault::agent_killed_after_write)) throw Killed{};
  return Done{};
}

Result<Claims::Kept, std::string> Host::load() {
  Kept kept{.claims = {}, .floors = disk_.floors};
  for (const auto& [key, claim] : disk_.claims) kept.claims.push_back(claim);
  return kept;
}

Result<Done, std::string> Host::write(const Claim& claim) {
  return write_down([&] {
    const bool fresh = disk_.claims.insert_or_assign(claim.key, claim).second;
    if (!fresh || claim.phase != TaskPhase::preparing) return;
    world_.checkers.claimed({claim.key, node_, claim.order.devices, claim.token});
  });
}

Result<Done, std::string> Host::write_floors(const std::map<DeviceId, FencingToken>& floors) {
  return write_down([&] { disk_.floors = floors; });
}

void Host::erase(const TaskKey& key) { disk_.claims.erase(key); }

}  // namespace keel::sim
