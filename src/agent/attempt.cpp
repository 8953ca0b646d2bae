#include "agent/attempt.h"

#include <algorithm>
#include <utility>

#include "agent/environment.h"
#include "base/check.h"
#include "base/plant.h"

namespace keel {
namespace {

constexpr Duration write_again_every = seconds(1);

bool shares_a_device(const Claim& claim, const Prepare& order) {
  return std::ranges::any_of(order.devices, [&](const DeviceId& device) {
    return std::ranges::find(claim.order.devices, device) != claim.order.devices.end();
  });
}

}  // namespace

bool is_live(const Claim& claim) { return is_live(claim.phase, claim.exit); }

AgentCore::AgentCore(NodeInventory inventory, Claims::Kept kept)
    : inventory_(std::move(inventory)), floors_(std::move(kept.floors)) {
  for (Claim& claim : kept.claims) {
    const TaskKey key = claim.key;
    // A claim is written before the floors that follow from it.
    for (const DeviceId& device : claim.order.devices) {
      floors_[device] = std::max(floors_[device], claim.token);
    }
    claims_.emplace(key, std::move(claim));
  }
}

std::vector<AgentAction> AgentCore::resumed() {
  Actions actions;
  for (const auto& [key, claim] : claims_) {
    if (claim.phase == TaskPhase::preparing) begin(claim, actions);
    if (claim.stop && is_live(claim)) actions.push_back(StopTask{key, *claim.stop});
  }
  return actions;
}

std::vector<AgentAction> AgentCore::unkept(std::span<const AgentAction> undone,
                                           const std::string& why) {
  Actions actions;
  for (const AgentAction& action : undone) {
    if (const auto* write = std::get_if<WriteClaim>(&action)) {
      const auto found = claims_.find(write->claim.key);
      if (found == claims_.end()) continue;
      Claim& claim = found->second;
      unwritten_.insert(claim.key);
      give_up(claim, why);
    } else if (std::holds_alternative<WriteFloors>(action)) {
      floors_unwritten_ = true;
    } else if (const auto* begin = std::get_if<BeginPrepare>(&action)) {
      in_flight_.erase(begin->order.key);
      if (const auto found = claims_.find(begin->order.key); found != claims_.end()) {
        give_up(found->second, why);
      }
    } else if (!std::holds_alternative<StartTask>(action) &&
               !std::holds_alternative<CommitTask>(action)) {
      actions.push_back(action);
    }
  }
  return actions;
}

// What cannot be remembered is not begun.
void AgentCore::give_up(Claim& claim, const std::string& why) {
  if (claim.phase != TaskPhase::preparing) return;
  claim.phase = TaskPhase::refused;
  claim.refusal = Reason::prepare_failed;
  claim.text = "the claim cannot be kept: " + why;
  unwritten_.insert(claim.key);
}

void AgentCore::write_unwritten(Instant now, Actions& actions) {
  if (!is_owing() || now < last_try_ + write_again_every) return;
  last_try_ = now;
  if (std::exchange(floors_unwritten_, false)) actions.push_back(WriteFloors{});
  for (const TaskKey& key : std::exchange(unwritten_, {})) {
    actions.push_back(WriteClaim{claims_.at(key)});
  }
}

std::vector<AgentAction> AgentCore::told(const Duty& duty, ReportNo answers, const JobSpec* spec,
                                         Instant now) {
  const auto sent = sent_at(answers);
  if (!sent) return {};  // it answers a report of another connection, or one long gone
  Actions actions = acknowledged(answers, now);
  const auto found = claims_.find(duty.key);
  Claim* claim = found == claims_.end() ? nullptr : &found->second;
  if (claim != nullptr && claim->token != duty.token) return actions;
  if (const auto* order = std::get_if<Prepare>(&duty.kind)) {
    check(spec != nullptr, "a PREPARE brings its spec");
    // Said again, it needs no answer: what has changed is reported anyhow, and an answer to each
    // repetition would be answered by one more.
    const bool is_old = order->devices.empty() && was_released_since(duty.key, answers);
    if (claim == nullptr && !is_old) {
      prepare(duty, *order, *sent + order->claim_for, *spec, now, actions);
    }
    if (planted(Plant::answer_to_each_repetition)) report_changed_ = true;
    return actions;
  }
  if (claim == nullptr) return actions;  // the next full report says that there is none
  if (std::holds_alternative<Start>(duty.kind)) start(*claim, now, actions);
  if (const auto* order = std::get_if<Stop>(&duty.kind)) stop(*claim, order->cause, actions);
  if (std::holds_alternative<Commit>(duty.kind) && claim->phase == TaskPhase::ended &&
      claim->exit.clean) {
    actions.push_back(CommitTask{claim->key});
  }
  if (std::holds_alternative<Release>(duty.kind)) release(*claim, actions);
  return actions;
}

void AgentCore::prepare(const Duty& duty, const Prepare& order, Instant until, const JobSpec& spec,
                        Instant now, Actions& actions) {
  Claim claim{.key = duty.key,
              .token = duty.token,
              .order = order,
              .spec = spec,
              .phase = TaskPhase::preparing,
              .claim_until = until};
  if (until <= now) {
    refuse(claim, Reason::claim_expired, "PREPARE came after its deadline", actions);
    claims_.emplace(claim.key, claim);
    return;
  }
  if (auto held = held_by_another(duty, order)) {
    refuse(claim, Reason::claim_refused, *std::move(held), actions);
    claims_.emplace(claim.key, claim);
    return;
  }
  for (auto& [key, other] : claims_) {
    // Nothing of it was started, and its token is older: it is void.
    if (is_live(other) && shares_a_device(other, order)) {
      end(other, {.kind = ExitKind::not_started, .cause = StopCause::superseded, .clean = true},
          actions);
    }
  }
  // The claim first: an agent that dies in between has claimed, and does not refuse its own token.
  write(claim, actions);
  for (const DeviceId& device : order.devices) floors_[device] = duty.token;
  if (!order.devices.empty()) actions.push_back(WriteFloors{});
  begin(claim, actions);
  claims_.emplace(claim.key, std::move(claim));
}

// Why these devices cannot be claimed with this token, if they cannot.
std::optional<std::string> AgentCore::held_by_another(const Duty& duty,
                                                      const Prepare& order) const {
  for (const DeviceId& device : order.devices) {
    const bool here = std::ranges::any_of(inventory_.devices,
                                          [&](const Device& one) { return one.id == device; });
    if (!here) return device.uuid + " is not on this host";
    const auto floor = floors_.find(device);
    if (planted(Plant::token_not_compared)) continue;
    if (floor != floors_.end() && duty.token <= floor->second) {
      return device.uuid + " was claimed with a later token";
    }
  }
  for (const auto& [key, other] : claims_) {
    if (planted(Plant::token_not_compared)) continue;
    const bool may_run = other.started || other.token >= duty.token;
    if (is_live(other) && may_run && shares_a_device(other, order)) {
      return "a device of it is held by " + print(key);
    }
  }
  return std::nullopt;
}

std::vector<AgentAction> AgentCore::prepared(const TaskKey& key,
                                             const Result<Done, RuntimeError>& outcome) {
  Actions actions;
  in_flight_.erase(key);
  const auto found = claims_.find(key);
  if (found == claims_.end() || found->second.phase != TaskPhase::preparing) {
    let_go(key, actions);  // it was given up meanwhile
    return actions;
  }
  Claim& claim = found->second;
  if (!outcome) {
    refuse(claim, Reason::prepare_failed, outcome.error().text, actions);
    let_go(key, actions);
    return actions;
  }
  claim.phase = TaskPhase::prepared;
  write(claim, actions);
  return actions;
}

void AgentCore::start(Claim& claim, Instant now, Actions& actions) {
  if (claim.stop || claim.phase != TaskPhase::prepared) return;
  if (!claim.started && claim.claim_until <= now) return;  // tick gives it up
  if (!claim.started || unwritten_.contains(claim.key)) {
    claim.started = true;
    if (!planted(Plant::started_not_written)) keep(claim, actions);
  }
  // A shim that is there already is left alone, so saying START twice starts once.
  actions.push_back(StartTask{claim.key, lease_});
}

void AgentCore::stop(Claim& claim, StopCause cause, Actions& actions) {
  if (!is_live(claim)) return;
  if (!claim.started || planted(Plant::stop_taken_for_the_end)) {
    end(claim, {.kind = ExitKind::not_started, .cause = cause, .clean = true}, actions);
    return;
  }
  if (!claim.stop) {
    claim.stop = cause;
    keep(claim, actions);
  }
  actions.push_back(StopTask{claim.key, *claim.stop});
}

void AgentCore::release(Claim& claim, Actions& actions) {
  const bool may_run = is_live(claim) && claim.started;
  // Said again later: after what ran, its floor is on disk before its claim goes.
  if (may_run || (claim.started && floors_unwritten_)) return;
  const TaskKey key = claim.key;
  let_go(key, actions);
  actions.push_back(EraseClaim{key});
  unwritten_.erase(key);
  claims_.erase(key);
  released_[key] = last_report_;
  report_changed_ = true;
}

void AgentCore::refuse(Claim& claim, Reason reason, std::string text, Actions& actions) {
  claim.phase = TaskPhase::refused;
  claim.refusal = reason;
  claim.text = std::move(text);
  write(claim, actions);
}

void AgentCore::end(Claim& claim, const Exit& exit, Actions& actions) {
  claim.phase = TaskPhase::ended;
  claim.exit = exit;
  write(claim, actions);
}

std::vector<AgentAction> AgentCore::committed(const TaskKey& key,
                                              const Result<Done, RuntimeError>& outcome) {
  Actions actions;
  const auto found = claims_.find(key);
  if (found == claims_.end() || found->second.phase != TaskPhase::ended) return actions;
  if (!outcome) return actions;  // COMMIT is said again
  found->second.phase = TaskPhase::settled;
  write(found->second, actions);
  return actions;
}

std::vector<AgentAction> AgentCore::observed(const std::vector<Observed>& tasks) {
  Actions actions;
  std::map<TaskKey, const Observed*> by_key;
  for (const Observed& task : tasks) by_key[task.key] = &task;
  for (auto& [key, claim] : claims_) {
    const auto task = by_key.find(key);
    observe(claim, task == by_key.end() ? nullptr : task->second, actions);
  }
  observe_strays(tasks, actions);
  return actions;
}

// Nobody here has claimed them, so they must not run. An agent that was not accepted may be the
// wrong one for this host, and touches nothing that runs.
void AgentCore::observe_strays(const std::vector<Observed>& tasks, Actions& actions) {
  if (planted(Plant::lost_disk_not_noticed)) return;
  std::set<TaskKey> strays;
  for (const Observed& task : tasks) {
    if (claims_.contains(task.key)) continue;
    const bool ended = task.phase == Observed::Phase::ended;
    if (task.phase == Observed::Phase::prepared || (ended && task.exit.clean)) {
      let_go(task.key, actions);
      continue;
    }
    strays.insert(task.key);
    if (!ended && accepted_) actions.push_back(StopTask{task.key, StopCause::superseded});
  }
  report_changed_ = report_changed_ || strays != strays_;
  strays_ = std::move(strays);
}

std::vector<StartedTask> AgentCore::started() const {
  std::vector<StartedTask> tasks;
  for (const auto& [key, claim] : claims_) {
    if (!claim.started || !is_live(claim)) continue;
    tasks.push_back({key, claim.order.owner.uid, claim.phase != TaskPhase::prepared});
  }
  return tasks;
}

void AgentCore::observe(Claim& claim, const Observed* task, Actions& actions) {
  if (!claim.started) return;
  if (claim.phase == TaskPhase::settled || claim.phase == TaskPhase::refused) return;
  if (claim.phase == TaskPhase::ended && claim.exit.clean) return;
  if (task == nullptr) {
    end(claim, {.kind = ExitKind::lost, .clean = true, .text = "nothing is left of it"}, actions);
    return;
  }
  switch (task->phase) {
    case Observed::Phase::prepared:
      // No shim. One is started when START is said again; a stop needs none.
      if (claim.stop)
        end(claim, {.kind = ExitKind::not_started, .cause = *claim.stop, .clean = true}, actions);
      return;
    case Observed::Phase::starting: return;
    case Observed::Phase::running:
      if (claim.phase == TaskPhase::running) return;
      claim.phase = TaskPhase::running;
      write(claim, actions);
      return;
    case Observed::Phase::ended:
      if (claim.phase == TaskPhase::ended && claim.exit == task->exit) return;
      end(claim, task->exit, actions);
      if (planted(Plant::lost_taken_for_success) && task->exit.kind == ExitKind::lost) {
        end(claim, {.kind = ExitKind::exited, .clean = true}, actions);
      }
      return;
  }
  check(false, "every phase is observed");
}

std::vector<AgentAction> AgentCore::tick(Instant now) {
  Actions actions;
  write_unwritten(now, actions);
  for (auto& [key, claim] : claims_) {
    const bool waits = claim.phase == TaskPhase::preparing || claim.phase == TaskPhase::prepared;
    if (!waits || claim.started || claim.claim_until > now) continue;
    refuse(claim, Reason::claim_expired, "START did not come in time", actions);
    let_go(key, actions);
  }
  return actions;
}

Instant AgentCore::next_wake() const {
  Instant wake = never;
  if (terms_) wake = report_changed_ ? last_sent_ : last_sent_ + terms_->heartbeat;
  if (is_owing()) wake = std::min(wake, last_try_ + write_again_every);
  for (const auto& [key, claim] : claims_) {
    const bool waits = claim.phase == TaskPhase::preparing || claim.phase == TaskPhase::prepared;
    if (waits && !claim.started) wake = std::min(wake, claim.claim_until);
  }
  return wake;
}

void AgentCore::keep(const Claim& claim, Actions& actions) {
  actions.push_back(WriteClaim{claim});
  unwritten_.erase(claim.key);
}

void AgentCore::write(const Claim& claim, Actions& actions) {
  keep(claim, actions);
  report_changed_ = true;
}

void AgentCore::begin(const Claim& claim, Actions& actions) {
  in_flight_.insert(claim.key);
  actions.push_back(BeginPrepare{{.key = claim.key,
                                  .spec = claim.spec,
                                  .owner = claim.order.owner,
                                  .env = environment(claim.key, claim.order, claim.spec)}});
}

// Clears a task away; what is being prepared just now waits until that is over.
void AgentCore::let_go(const TaskKey& key, Actions& actions) {
  if (!in_flight_.contains(key)) actions.push_back(ReleaseTask{key});
}

}  // namespace keel
