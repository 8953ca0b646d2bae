#include "agent/runner.h"

#include <algorithm>
#include <utility>

namespace keel {
namespace {

constexpr Duration log_look_every = milliseconds(100);

}  // namespace

Result<Runner, std::string> Runner::open(NodeInventory inventory, AgentPorts ports) {
  TRY(kept, ports.claims.load());
  Runner runner(std::move(inventory), std::move(kept), ports);
  runner.act(runner.core_.resumed());
  return runner;
}

void Runner::step() {
  const Instant now = ports_.clock.now();
  for (const ServerMessage& message : ports_.server.take()) hear(message, now);
  for (const auto& [key, outcome] : ports_.preparations.take()) act(core_.prepared(key, outcome));
  act(core_.observed(ports_.runtime.observe(core_.started())));
  act(core_.tick(now));
  if (const auto report = core_.report_due(now)) ports_.server.send(*report);
  answer_log_readers(now);
}

void Runner::hear(const ServerMessage& message, Instant now) {
  if (std::holds_alternative<ServerConnected>(message)) {
    core_.connected();
    ports_.server.introduce(core_.inventory(), core_.newest_token());
  } else if (std::holds_alternative<ServerDisconnected>(message)) {
    core_.disconnected();
    log_readers_.clear();
  } else if (const auto* welcomed = std::get_if<ServerWelcomed>(&message)) {
    act(core_.welcomed(welcomed->terms, now));
  } else if (const auto* heard = std::get_if<ServerAcknowledged>(&message)) {
    act(core_.acknowledged(heard->report, now));
  } else if (const auto* told = std::get_if<ServerTold>(&message)) {
    act(core_.told(told->duty, told->answers, told->spec ? &*told->spec : nullptr, now));
  } else if (const auto* asked = std::get_if<ServerAskedLog>(&message)) {
    log_readers_.push_back({*asked, now + asked->wait});
  }
}

void Runner::act(std::span<const AgentAction> actions) {
  for (; !actions.empty(); actions = actions.subspan(1)) {
    const auto written = write(actions.front());
    if (!written) {
      trouble_ = written.error();
      for (const AgentAction& action : core_.unkept(actions, trouble_)) carry_out(action);
      return;
    }
    carry_out(actions.front());
  }
}

// What must be on disk before anything after it is done.
Result<Done, std::string> Runner::write(const AgentAction& action) {
  Result<Done, std::string> written = Done{};
  if (const auto* claim = std::get_if<WriteClaim>(&action)) {
    written = ports_.claims.write(claim->claim);
  } else if (std::holds_alternative<WriteFloors>(action)) {
    written = ports_.claims.write_floors(core_.floors());
  } else {
    return written;
  }
  if (written) trouble_.clear();
  return written;
}

void Runner::carry_out(const AgentAction& action) {
  if (const auto* erase = std::get_if<EraseClaim>(&action)) ports_.claims.erase(erase->key);
  if (const auto* begin = std::get_if<BeginPrepare>(&action)) {
    ports_.preparations.begin(begin->order);
  }
  if (const auto* start = std::get_if<StartTask>(&action)) {
    const auto started = ports_.runtime.start(start->key, start->lease);
    if (!started) trouble_ = started.error().text;  // START is said again, or an end is observed
  }
  if (const auto* stop = std::get_if<StopTask>(&action)) {
    ports_.runtime.stop(stop->key, stop->cause);
  }
  if (const auto* commit = std::get_if<CommitTask>(&action)) {
    const auto committed = ports_.runtime.commit(commit->key);
    if (!committed) trouble_ = "outputs of " + print(commit->key) + ": " + committed.error().text;
    act(core_.committed(commit->key, committed));
  }
  if (const auto* release = std::get_if<ReleaseTask>(&action)) {
    ports_.runtime.release(release->key);
  }
  if (const auto* extend = std::get_if<ExtendLease>(&action)) {
    ports_.runtime.extend(extend->key, extend->lease);
  }
}

// A reader with nothing to read waits until there is something, or its time is over.
void Runner::answer_log_readers(Instant now) {
  for (const LogReader& reader : std::exchange(log_readers_, {})) {
    const ServerAskedLog& asked = reader.question;
    const auto part = ports_.runtime.read_log(asked.key, asked.offset, asked.limit);
    const bool empty = part && part->lines.empty() && !part->end;
    if (empty && now < reader.until) {
      log_readers_.push_back(reader);
    } else {
      ports_.server.send_log(asked.request, part);
    }
  }
}

Instant Runner::next_wake() const {
  const Instant wake = core_.next_wake();
  if (log_readers_.empty()) return wake;
  return std::min(wake, ports_.clock.now() + log_look_every);
}

}  // namespace keel
