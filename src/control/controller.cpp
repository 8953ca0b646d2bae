#include "control/controller.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/launch.h"
#include "core/reconcile.h"

namespace keel {
namespace {

constexpr Duration silence_check_every = seconds(1);
constexpr Duration duty_round_every = seconds(10);
constexpr Duration absence_min = seconds(3);  // turns are taken more often than that

constexpr const char* another_agents_tasks =
    "the node still has tasks of another agent; start that one again, with its state directory, or "
    "wait until they have surely ended";

// The shim of a node that cannot be heard has stopped its task by then: its lease, its grace and
// the kill, on a clock that may run one per cent slow.
Duration proof_of_loss(const Job& job, const Policy& policy) {
  const Duration bound = policy.disconnect_stop + job.grace + policy.kill_bound;
  return bound + Duration{bound.us / 100};
}

}  // namespace

Controller::Controller(const Policy& policy, Epoch epoch, const Loaded& loaded, Instant now)
    : policy_(policy), epoch_(epoch) {
  for (const Node& node : loaded.nodes) {
    state_.restore(node);
    last_heard_[node.inventory.id] = now;
  }
  for (const Job& job : loaded.jobs) {
    state_.restore(job);
    if (!is_terminal(job.state) && job.state != JobState::queued) ask_.insert(job.id);
  }
  state_.restore(loaded.seq, loaded.at, loaded.last_token);
}

Turn Controller::decide(Instant now, std::vector<Input> inputs, const Lookups& lookups) {
  note_absence(std::max(now, state_.at()));
  turn_ = Turn{.after = state_.seq()};
  fresh_ids_used_ = 0;
  for (const Input& input : inputs) {
    std::visit([&](const auto& one) { hear(one, lookups); }, input);
  }
  for (const JobId job : state_.take_woken(now_)) take_due_steps(job);
  notice_silence();
  schedule();
  ask_for_duties();
  finish_turn();
  return std::exchange(turn_, {});
}

// Time in which nobody could be heard here is nobody's silence. This only puts a proof off.
void Controller::note_absence(Instant now) {
  const Duration absence = now_ == Instant{} ? Duration{} : now - now_;
  now_ = now;
  if (absence < absence_min) return;
  for (auto& [node, heard] : last_heard_) heard = heard + absence;
}

Instant Controller::next_wake() const {
  if (pass_unfinished_ || duty_cursor_) return state_.at();
  Instant wake = state_.next_wake();
  if (!last_heard_.empty()) wake = std::min(wake, next_silence_check_);
  if (!sessions_.empty()) wake = std::min(wake, next_duty_round_);
  return wake;
}

void Controller::hear(const SubmitInput& input, const Lookups& lookups) {
  const SubmitKey key{input.owner.user, input.key};
  if (!input.key.empty()) {
    std::optional<Earlier> earlier;
    for (const std::map<SubmitKey, Earlier>* known :
         {&lookups.keys, &std::as_const(keys_of_turn_)}) {
      if (const auto found = known->find(key); found != known->end()) earlier = found->second;
    }
    switch (judge_key(input.said, earlier)) {
      case KeyVerdict::fresh: break;
      case KeyVerdict::existing: return answer(input.ticket, SubmitAnswer{earlier->job, true});
      case KeyVerdict::conflict: return answer(input.ticket, KeyConflict{earlier->job});
    }
  }
  check(fresh_ids_used_ < lookups.fresh_ids.size(), "there is an id for every submission");
  const JobId id = lookups.fresh_ids[fresh_ids_used_++];
  const bool made =
      record(id, submitted(input.spec, input.spec_digest, input.said, input.owner, input.key));
  check(made, "a fresh id names no other job");
  turn_.batch.specs.emplace_back(input.spec_digest, input.spec);
  if (!input.key.empty()) keys_of_turn_[key] = {id, input.said};
  take_due_steps(id);
  answer(input.ticket, SubmitAnswer{id, false});
}

void Controller::hear(const CancelInput& input, const Lookups& lookups) {
  if (const Job* job = state_.find(input.job)) {
    if (!is_terminal(job->state)) record(input.job, Canceled{});
    return answer(input.ticket, CancelAnswer{input.job, job->state});
  }
  const auto stored = lookups.jobs.find(input.job);
  if (stored == lookups.jobs.end()) return answer(input.ticket, NoSuchJob{input.job});
  answer(input.ticket, CancelAnswer{input.job, stored->second.state});
}

void Controller::hear(const ReasonsInput& input, const Lookups&) {
  ReasonsAnswer reasons;
  for (const JobId job : input.jobs) {
    const Reason why = why_waiting(state_, placeable_, now_, job);
    if (why != Reason::none) reasons.reasons.emplace_back(job, why);
  }
  std::ranges::sort(reasons.reasons);
  answer(input.ticket, std::move(reasons));
}

// What another agent has claimed is on a disk that this one does not know.
bool Controller::holds_tasks_of_another(const NodeInventory& inventory) const {
  const Node* node = state_.find(inventory.id);
  return node != nullptr && node->inventory.agent_id != inventory.agent_id &&
         !state_.jobs_on(inventory.id).empty();
}

void Controller::hear(const AgentConnected& input, const Lookups&) {
  if (holds_tasks_of_another(input.inventory)) {
    turn_.to_agents.push_back({input.node, input.session, ToAgent::Refuse{another_agents_tasks}});
    return;
  }
  Session& session = sessions_[input.node];
  if (input.session <= session.number) return;  // overtaken by a newer connection
  session = {.number = input.session};
  last_heard_.try_emplace(input.node, now_);  // leases grow by reports alone
  update_placeable(input.node);
  const Node* node = state_.find(input.node);
  if (node == nullptr || node->inventory != input.inventory) {
    record(input.node, NodeReported{input.inventory});
  }
  Agents::Welcome welcome{.epoch = epoch_,
                          .floors = {},
                          .disconnect_stop = policy_.disconnect_stop,
                          .heartbeat = policy_.heartbeat};
  for (const auto& [device, key] : state_.use_of(input.node).devices) {
    welcome.floors.push_back({device, state_.find(key.job)->token});
  }
  turn_.to_agents.push_back({input.node, input.session, std::move(welcome)});
}

void Controller::hear(const AgentReported& input, const Lookups&) {
  const auto session = sessions_.find(input.node);
  if (session == sessions_.end() || session->second.number != input.session) return;
  if (input.report.number <= session->second.last_report) return;  // overtaken: it is not so now
  session->second.last_report = input.report.number;
  last_heard_[input.node] = now_;
  if (input.report.full) hear_in_full(input, session->second);
  turn_.to_agents.push_back({input.node, input.session, ToAgent::Ack{input.report.number}});
}

void Controller::hear_in_full(const AgentReported& input, Session& session) {
  const NodeId& node = input.node;
  const auto& inventory = input.report.inventory;
  if (inventory && state_.find(node)->inventory != *inventory) {
    record(node, NodeReported{*inventory});
  }
  if (state_.find(node)->state == NodeState::unreachable) record(node, NodeHeard{});
  resume_jobs_on(node);
  const Told told = facts_told(node, input.report, state_, now_, policy_);
  alarms_ += told.alarms.size();
  for (const JobFact& fact : told.facts) {
    record(fact.job, fact.event);
    take_due_steps(fact.job);
  }
  session.heard_in_full = true;
  // Something runs there that no claim tells of: on which devices, nobody knows.
  session.has_strays = std::ranges::any_of(
      input.report.tasks, [](const TaskReport& task) { return task.token == FencingToken{}; });
  update_placeable(node);
  const auto on_node = state_.jobs_on(node);
  for (const auto& [job, count] : on_node) {
    take_due_steps(job);
    if (state_.find(job) == nullptr) continue;
    for (const Duty& due : duties(*state_.find(job), state_, policy_)) {
      if (due.node == node) send(due);
    }
  }
  for (const Duty& order : orders_due(node, input.report, state_)) send(order);
}

void Controller::hear(const AgentGone& input, const Lookups&) {
  const auto session = sessions_.find(input.node);
  if (session == sessions_.end() || session->second.number != input.session) return;
  sessions_.erase(session);
  update_placeable(input.node);
}

// Jobs that were unknown for want of this node go on where they stood, once all their nodes speak.
void Controller::resume_jobs_on(const NodeId& node) {
  const auto on_node = state_.jobs_on(node);
  for (const auto& [id, count] : on_node) {
    const Job& job = *state_.find(id);
    if (job.state != JobState::unknown) continue;
    const bool all_heard = std::ranges::all_of(job.tasks, [&](const Task& task) {
      return task.state == TaskState::settled || state_.find(task.node)->state == NodeState::ready;
    });
    if (!all_heard) continue;
    record(id, Heard{});
    take_due_steps(id);
  }
}

void Controller::notice_silence() {
  if (now_ < next_silence_check_) return;
  next_silence_check_ = now_ + silence_check_every;
  for (const auto& [node, heard] : last_heard_) {
    if (now_ - heard < policy_.silence) continue;
    if (state_.find(node)->state == NodeState::ready) {
      record(node, NodeSilenced{});
      update_placeable(node);
    }
    silence_jobs_on(node);
    lose(node);
  }
}

// Also those that came to need the node after it fell silent.
void Controller::silence_jobs_on(const NodeId& node) {
  const auto on_node = state_.jobs_on(node);
  for (const auto& [job, count] : on_node) {
    const JobState state = state_.find(job)->state;
    const bool affected = state == JobState::launching || state == JobState::running ||
                          state == JobState::preempting || state == JobState::finishing;
    if (affected) record(job, Silenced{});
  }
}

// Gives up what a silent node ran, once it is proved that nothing of it can be running any more.
void Controller::lose(const NodeId& node) {
  const Duration silent = now_ - last_heard_[node];
  const auto on_node = state_.jobs_on(node);
  for (const auto& [id, count] : on_node) {
    const Job& job = *state_.find(id);
    if (job.state == JobState::reserved || silent < proof_of_loss(job, policy_)) continue;
    for (const JobFact& fact : facts_of_loss(job, node)) record(fact.job, fact.event);
    take_due_steps(id);
  }
}

void Controller::schedule() {
  std::size_t looked_at = 0;
  pass_unfinished_ = false;
  while (auto decision = examine_next(state_, placeable_, now_, cursor_)) {
    if (decision->reason == Reason::none) reserve(*decision);
    if (++looked_at < policy_.candidates_per_turn_max) continue;
    pass_unfinished_ = true;
    return;
  }
  // A pass that placed something is followed by one more, in a turn of its own.
  pass_unfinished_ = cursor_.version != state_.schedule_version();
}

void Controller::reserve(const Decision& decision) {
  const std::uint16_t port =
      free_port(state_, decision.slots.front().node, policy_.port_first, policy_.port_last);
  if (port == 0) return;  // two thousand live attempts begin on one node: wait for one to end
  const bool reserved = record(decision.job, Reserved{.token = {state_.last_token().value + 1},
                                                      .claim_by = now_ + policy_.claim_for,
                                                      .port = port,
                                                      .slots = decision.slots});
  check(reserved, "the scheduler places queued jobs on free devices");
}

void Controller::ask_for_duties() {
  for (const JobId job : std::exchange(ask_, {})) {
    take_due_steps(job);
    if (const Job* live = state_.find(job)) {
      for (const Duty& due : duties(*live, state_, policy_)) send(due);
    }
  }
  if (!duty_cursor_ && now_ < next_duty_round_) return;
  if (!duty_cursor_) next_duty_round_ = now_ + duty_round_every;
  const auto& jobs = state_.jobs();
  auto next = duty_cursor_ ? jobs.upper_bound(*duty_cursor_) : jobs.begin();
  for (std::size_t i = 0; i < policy_.duties_per_turn_max && next != jobs.end(); ++i, ++next) {
    duty_cursor_ = next->first;
    if (next->second.state == JobState::queued) continue;
    for (const Duty& due : duties(next->second, state_, policy_)) {
      if (!std::holds_alternative<Release>(due.kind)) send(due);
    }
  }
  if (next == jobs.end()) duty_cursor_.reset();
}

bool Controller::record(JobId id, JobEvent event) {
  const Job* before = state_.find(id);
  const auto state_before = before ? std::optional(before->state) : std::nullopt;
  const bool failing_before = before != nullptr && before->first_failed.has_value();
  JobFact fact{id, std::move(event)};
  const auto applied = state_.apply(now_, fact);
  if (!applied) {
    if (applied.error() == TransitionError::impossible) ++alarms_;
    return false;
  }
  turn_.batch.events.push_back({state_.seq(), now_, std::move(fact)});
  changed_.insert(id);
  const Job& job = *state_.find(id);
  if (job.state != state_before || job.first_failed.has_value() != failing_before) ask_.insert(id);
  return true;
}

void Controller::record(const NodeId& node, NodeEvent event) {
  NodeFact fact{node, std::move(event)};
  state_.apply(now_, fact);
  turn_.batch.events.push_back({state_.seq(), now_, std::move(fact)});
  changed_nodes_.insert(node);
}

void Controller::take_due_steps(JobId id) {
  while (const Job* job = state_.find(id)) {
    auto step = next_step(*job, now_, policy_);
    if (!step || (std::holds_alternative<Launched>(*step) && !is_heard(*job))) return;
    if (!record(id, *std::move(step))) return;
  }
}

// START is not said to a gang of which a part cannot hear it.
bool Controller::is_heard(const Job& job) const {
  return std::ranges::all_of(job.tasks, [&](const Task& task) {
    return state_.find(task.node)->state == NodeState::ready;
  });
}

void Controller::update_placeable(const NodeId& node) {
  const auto session = sessions_.find(node);
  const Node* known = state_.find(node);
  const bool fit = session != sessions_.end() && session->second.heard_in_full &&
                   !session->second.has_strays && known != nullptr &&
                   known->state == NodeState::ready;
  const bool changed = fit ? placeable_.insert(node).second : placeable_.erase(node) == 1;
  if (changed) cursor_ = {.version = state_.schedule_version() - 1};  // look at everything again
}

void Controller::send(const Duty& duty) {
  const auto session = sessions_.find(duty.node);
  if (session == sessions_.end() || !session->second.heard_in_full) return;
  if (!sent_.insert({duty.key, duty.token, duty.kind.index()}).second) return;
  turn_.to_agents.push_back(
      {duty.node, session->second.number, ToAgent::Ask{session->second.last_report, duty}});
}

void Controller::answer(Ticket ticket, AnswerKind kind) {
  turn_.answers.push_back({ticket, std::move(kind)});
}

void Controller::finish_turn() {
  for (const JobId id : std::exchange(changed_, {})) {
    turn_.batch.jobs.push_back(*state_.find(id));
    state_.forget_if_over(id);
  }
  for (const NodeId& id : std::exchange(changed_nodes_, {})) {
    turn_.batch.nodes.push_back(*state_.find(id));
  }
  turn_.batch.holdings = state_.take_holding_changes();
  turn_.batch.last_token = state_.last_token();
  keys_of_turn_.clear();
  sent_.clear();
}

}  // namespace keel
