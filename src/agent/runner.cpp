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
  TRY(resumed, runner.act(runner.core_.resumed()));
  return runner;
}

Result<Done, std::string> Runner::step() {
  const Instant now = ports_.clock.now();
  for (const ServerMessage& message : ports_.server.take()) {
    TRY(heard, hear(message, now));
  }
  for (const auto& [key, outcome] : ports_.preparations.take()) {
    TRY(acted, act(core_.prepared(key, outcome)));
  }
  TRY(looked, act(core_.observed(ports_.runtime.observe())));
  TRY(passed, act(core_.tick(now)));
  if (const auto report = core_.report_due(now)) ports_.server.send(*report);
  answer_log_readers(now);
  return Done{};
}

Result<Done, std::string> Runner::hear(const ServerMessage& message, Instant now) {
  if (std::holds_alternative<ServerConnected>(message)) {
    core_.connected();
    ports_.server.introduce(core_.inventory());
  } else if (std::holds_alternative<ServerDisconnected>(message)) {
    core_.disconnected();
    log_readers_.clear();
  } else if (const auto* welcomed = std::get_if<ServerWelcomed>(&message)) {
    return act(core_.welcomed(welcomed->terms, now));
  } else if (const auto* heard = std::get_if<ServerAcknowledged>(&message)) {
    return act(core_.acknowledged(heard->report, now));
  } else if (const auto* told = std::get_if<ServerTold>(&message)) {
    return act(core_.told(told->duty, told->answers, told->spec ? &*told->spec : nullptr, now));
  } else if (const auto* asked = std::get_if<ServerAskedLog>(&message)) {
    log_readers_.push_back({*asked, now + asked->wait});
  }
  return Done{};
}

Result<Done, std::string> Runner::act(const std::vector<AgentAction>& actions) {
  for (const AgentAction& action : actions) {
    TRY(acted, act(action));
  }
  return Done{};
}

Result<Done, std::string> Runner::act(const AgentAction& action) {
  if (const auto* write = std::get_if<WriteClaim>(&action)) {
    return ports_.claims.write(write->claim);
  }
  if (std::holds_alternative<WriteFloors>(action))
    return ports_.claims.write_floors(core_.floors());
  if (const auto* erase = std::get_if<EraseClaim>(&action)) ports_.claims.erase(erase->key);
  if (const auto* begin = std::get_if<BeginPrepare>(&action)) {
    ports_.preparations.begin(begin->order);
  }
  if (const auto* start = std::get_if<StartTask>(&action)) {
    const auto started = ports_.runtime.start(start->key, start->lease);
    if (!started) return act(core_.start_failed(start->key, started.error()));
  }
  if (const auto* stop = std::get_if<StopTask>(&action)) {
    ports_.runtime.stop(stop->key, stop->cause);
  }
  if (const auto* commit = std::get_if<CommitTask>(&action)) {
    return act(core_.committed(commit->key, ports_.runtime.commit(commit->key)));
  }
  if (const auto* release = std::get_if<ReleaseTask>(&action)) {
    ports_.runtime.release(release->key);
  }
  if (const auto* extend = std::get_if<ExtendLease>(&action)) {
    ports_.runtime.extend(extend->key, extend->lease);
  }
  return Done{};
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
