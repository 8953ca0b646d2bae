#include "sim/plane.h"

#include <algorithm>
#include <array>

#include "sim/host.h"
#include "sim/world.h"

namespace keel::sim {
namespace {

constexpr Duration turn_takes = milliseconds(1);
constexpr Duration try_again_after = milliseconds(200);
constexpr Duration jump_max = hours(24 * 365 * 10);

}  // namespace

Plane::Plane(World& world, int number)
    : world_(world),
      name_("plane-" + std::to_string(number)),
      chance_(world.chance.split()),
      store_(world.rows) {}

void Plane::begin() {
  if (is_leading()) return;
  const auto recovered = recover(*this);
  if (!recovered) return;
  // keeld's clock: from the wall clock at the start, never before the last event, and steady then.
  Instant wall = world_.agenda.now();
  if (world_.faults.strikes(Fault::clock_jumps)) {
    wall = wall + Duration{chance_.between(-jump_max.us, jump_max.us)};
  }
  wall = std::max({wall, recovered->loaded.at, Instant{1}});
  clock_ = std::make_unique<DriftingClock>(world_.agenda, wall,
                                           chance_.between(-drift_max_ppm, drift_max_ppm));
  leader_ = std::make_unique<Leader>(world_.policy,
                                     Ports{.clock = *clock_,
                                           .store = *this,
                                           .inputs = *this,
                                           .callers = *this,
                                           .agents = *this,
                                           .ids = *this},
                                     *recovered);
  term_ = ++world_.terms;
  ++life_;
  paused_until_ = {};
  world_.say(name_, "leads, epoch " + std::to_string(recovered->epoch.value));
  world_.checkers.recovered(recovered->epoch, leader_->controller().state(), *world_.rows);
  wake(world_.agenda.now());
}

void Plane::kill() {
  if (!is_leading()) return;
  world_.say(name_, "ends");
  leader_.reset();
  ++life_;
  wake_at_ = never;
  queue_.clear();
  asking_.clear();
  hang_up_all();
}

void Plane::hang_up_all() {
  session_of_.clear();
  agent_of_.clear();
  for (auto& [number, connection] : std::exchange(sessions_, {})) {
    connection->plane_open = false;
    world_.network.cut(connection);
  }
}

void Plane::pause(Duration span) {
  if (!is_leading()) return;
  world_.say(name_, "is paused");
  paused_until_ = world_.agenda.now() + span;
}

void Plane::go_on() {
  paused_until_ = {};
  wake(world_.agenda.now());
}

void Plane::wake(Instant when) {
  when = std::max({when, paused_until_, world_.agenda.now()});
  if (!is_leading() || when >= wake_at_) return;
  wake_at_ = when;
  world_.agenda.at(when, [this, when, life = life_] {
    if (life != life_ || when != wake_at_) return;
    wake_at_ = never;
    take_turns();
  });
}

void Plane::take_turns() {
  if (!is_leading()) return;
  if (world_.agenda.now() < paused_until_) return wake(paused_until_);
  try {
    if (world_.drops_caches()) leader_->drop_caches();
    const auto turn = leader_->take_turn(clock_->now());
    if (turn) {
      const Instant next = clock_->true_time(leader_->next_wake());
      const Instant soon = world_.agenda.now() + turn_takes;
      return wake(queue_.empty() ? std::max(next, soon) : soon);
    }
    if (turn.error().code == StoreError::Code::unavailable) {
      return wake(world_.agenda.now() + try_again_after);
    }
    world_.say(name_, turn.error().detail);
  } catch (const Killed&) {
  }
  kill();
}

std::vector<Input> Plane::take(std::size_t max, Instant) {
  std::vector<Input> taken;
  while (!queue_.empty() && taken.size() < max) {
    taken.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return taken;
}

// As AgentSessions does it: one session for each node, of one agent.
void Plane::hello(const std::shared_ptr<Connection>& connection, const NodeInventory& inventory,
                  FencingToken newest) {
  const NodeId& node = inventory.id;
  const auto before = session_of_.find(node);
  const bool another = before != session_of_.end() && agent_of_[node] != inventory.agent_id;
  if (!is_leading() || connection->session != SessionNo{} || another) {
    return world_.network.cut(connection);
  }
  if (before != session_of_.end()) {
    const auto old = sessions_.at(before->second);
    sessions_.erase(before->second);
    queue_.push_back(AgentGone{node, old->session});
    world_.network.cut(old);
  }
  connection->session = last_session_ = SessionNo{last_session_.value + 1};
  sessions_[last_session_] = connection;
  session_of_[node] = last_session_;
  agent_of_[node] = inventory.agent_id;
  queue_.push_back(AgentConnected{node, last_session_, inventory, newest});
  wake(world_.agenda.now());
}

void Plane::report(const std::shared_ptr<Connection>& connection, const Report& report) {
  if (!sessions_.contains(connection->session)) return;
  queue_.push_back(AgentReported{connection->host->node(), connection->session, report});
  wake(world_.agenda.now());
}

void Plane::disconnected(const Connection& connection) {
  if (sessions_.erase(connection.session) == 0) return;
  const NodeId& node = connection.host->node();
  session_of_.erase(node);
  agent_of_.erase(node);
  queue_.push_back(AgentGone{node, connection.session});
  wake(world_.agenda.now());
}

void Plane::ask(const std::function<Input(Ticket)>& make, Answered answered) {
  if (!is_leading()) return;
  last_ticket_ = Ticket{last_ticket_.value + 1};
  asking_[last_ticket_] = std::move(answered);
  queue_.push_back(make(last_ticket_));
  wake(world_.agenda.now());
}

void Plane::answer(Answer answer) {
  if (world_.faults.strikes(Fault::plane_killed_while_speaking)) throw Killed{};
  const auto asking = asking_.find(answer.ticket);
  if (asking == asking_.end()) return;
  const Answered answered = std::move(asking->second);
  asking_.erase(asking);
  if (world_.faults.strikes(Fault::answer_lost)) return;
  // What was promised before the store was put back is promised no more.
  world_.agenda.after(world_.network.latency(),
                      [this, answered, kind = std::move(answer.kind), then = world_.put_back] {
                        if (then == world_.put_back) answered(kind);
                      });
}

void Plane::speak(SessionNo session, ServerMessage message) {
  if (world_.faults.strikes(Fault::plane_killed_while_speaking)) throw Killed{};
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto connection = found->second;
  world_.checkers.traffic.said();
  world_.network.to_host(
      connection, [connection, said = std::make_shared<const ServerMessage>(std::move(message))] {
        connection->host->hear(*said);
      });
}

void Plane::welcome(const NodeId&, SessionNo session, const Welcome& welcome) {
  AgentTerms terms{
      .floors = {}, .disconnect_stop = welcome.disconnect_stop, .heartbeat = welcome.heartbeat};
  for (const Floor& floor : welcome.floors) terms.floors[floor.device] = floor.token;
  speak(session, ServerWelcomed{std::move(terms)});
}

void Plane::refuse(SessionNo session, const std::string&) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto connection = found->second;
  disconnected(*connection);
  world_.network.cut(connection);
}

void Plane::acknowledge(const NodeId&, SessionNo session, ReportNo report) {
  speak(session, ServerAcknowledged{report});
}

void Plane::send(SessionNo session, Epoch, ReportNo answers, const Duty& duty,
                 const JobSpec* spec) {
  speak(session, ServerTold{duty, answers, spec ? std::optional(*spec) : std::nullopt});
}

JobId Plane::next_job(Instant) {
  return JobId{static_cast<std::uint64_t>(chance_.between(1, INT64_MAX))};
}

std::optional<StoreError> Plane::trouble() {
  if (!world_.faults.strikes(Fault::store_unavailable)) return std::nullopt;
  return StoreError{StoreError::Code::unavailable, "the store is out of reach"};
}

void Plane::tell(const Batch& batch) {
  if (!world_.trace.is_told()) return;
  for (const StoredEvent& event : batch.events) {
    if (const auto* fact = std::get_if<JobFact>(&event.fact)) {
      world_.say(name_, print(fact->job) + " " + std::string(name_of(fact->event)));
    } else if (const auto* node = std::get_if<NodeFact>(&event.fact)) {
      constexpr std::array words{"reported", "silenced", "heard", "foreign tasks seen"};
      world_.say(name_, node->node.name + " " + words.at(node->event.index()));
    }
  }
}

Result<Seq, StoreError> Plane::append(Epoch epoch, Seq after, const Batch& batch) {
  if (auto out_of_reach = trouble()) return *out_of_reach;
  if (world_.faults.strikes(Fault::plane_killed_before_commit)) throw Killed{};
  const bool unknown = world_.faults.strikes(Fault::commit_unknown);
  const StoreError no_answer{StoreError::Code::unknown, "the store did not answer"};
  if (unknown && chance_.one_in(2)) return no_answer;
  const auto seq = store_.append(epoch, after, batch);
  if (!seq) return seq;
  tell(batch);
  world_.checkers.appended(epoch, batch, *world_.rows);
  if (world_.faults.strikes(Fault::plane_killed_after_commit)) throw Killed{};
  if (unknown) return no_answer;
  return seq;
}

Result<std::optional<JobSpec>, StoreError> Plane::spec(const Digest& digest) {
  if (auto out_of_reach = trouble()) return *out_of_reach;
  return store_.spec(digest);
}

Result<std::vector<std::optional<Store::KeyRow>>, StoreError> Plane::find_keys(
    const std::vector<SubmitKey>& keys) {
  if (auto out_of_reach = trouble()) return *out_of_reach;
  return store_.find_keys(keys);
}

Result<std::vector<Job>, StoreError> Plane::find_jobs(const std::vector<JobId>& ids) {
  if (auto out_of_reach = trouble()) return *out_of_reach;
  return store_.find_jobs(ids);
}

}  // namespace keel::sim
