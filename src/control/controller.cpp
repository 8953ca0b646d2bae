#include "control/controller.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/plant.h"
#include "core/launch.h"
#include "core/reconcile.h"

namespace keel {
namespace {

constexpr Duration duty_round_every = seconds(10);
constexpr Duration absence_min = seconds(3);  // turns are taken more often than that

}  // namespace

Controller::Controller(const Policy& policy, Epoch epoch, const Loaded& loaded, Instant now)
    : policy_(policy), epoch_(epoch) {
  for (const Node& node : loaded.nodes) {
    state_.restore(node);
    last_heard_[node.inventory.id] =
        planted(Plant::silence_from_before_the_start) ? Instant{} : now;
    note_devices(node.inventory);
  }
  for (const Job& job : loaded.jobs) {
    state_.restore(job);
    if (!is_terminal(job.state) && job.state != JobState::queued) ask_.insert(job.id);
  }
  state_.restore(loaded.seq, loaded.at,
                 planted(Plant::restart_forgets_tokens) ? FencingToken{} : loaded.last_token,
                 loaded.lost);
  if (loaded.settling) settles_at_ = now + proof_of_loss(policy.grace_max, policy);
}

// All that was begun after the copy, and has not been heard of, is over by now.
void Controller::settle() {
  if (!settles_at_ || now_ < *settles_at_) return;
  settles_at_.reset();
  turn_.batch.settles = true;
  for (const auto& [node, session] : sessions_) update_placeable(node);
  std::vector<JobId> reserved;
  for (const auto& [id, job] : state_.jobs()) {
    if (job.state == JobState::reserved) reserved.push_back(id);
  }
  for (const JobId job : reserved) take_due_steps(job);
}

void Controller::drop_caches() {
  // The cursor stays: it is how far a pass has come, and where it begins anew it takes longer.
  const Cursor cursor = cursor_;
  state_ = state_.rebuilt();
  placeable_.clear();
  for (const auto& [node, session] : sessions_) update_placeable(node);
  cursor_ = cursor;
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
  settle();
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
  Instant wake = std::min(state_.next_wake(), settles_at_.value_or(never));
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
      case KeyVerdict::conflict:
        if (planted(Plant::other_spec_under_one_key)) {
          return answer(input.ticket, SubmitAnswer{earlier->job, true});
        }
        return answer(input.ticket, KeyConflict{earlier->job});
    }
  }
  check(fresh_ids_used_ < lookups.fresh_ids.size(), "there is an id for every submission");
  const JobId id = lookups.fresh_ids[fresh_ids_used_++];
  const bool made = record(id, submitted(input.spec, input.spec_digest, input.said, input.owner,
                                         planted(Plant::key_not_stored) ? "" : input.key));
  check(made, "a fresh id names no other job");
  turn_.batch.specs.emplace_back(input.spec_digest, input.spec);
  if (!input.key.empty()) keys_of_turn_[key] = {id, input.said};
  take_due_steps(id);
  answer(input.ticket, SubmitAnswer{id, false});
}

void Controller::hear(const CancelInput& input, const Lookups& lookups) {
  if (const Job* job = state_.find(input.job)) {
    if (planted(Plant::cancel_lost_after_start) && job->state == JobState::launching) {
      return answer(input.ticket, CancelAnswer{input.job, JobState::canceled});
    }
    if (!is_terminal(job->state) || planted(Plant::double_terminal)) record(input.job, Canceled{});
    return answer(input.ticket, CancelAnswer{input.job, job->state});
  }
  const auto stored = lookups.jobs.find(input.job);
  if (stored == lookups.jobs.end()) return answer(input.ticket, NoSuchJob{input.job});
  answer(input.ticket, CancelAnswer{input.job, stored->second.state});
}

void Controller::hear(const ReasonsInput& input, const Lookups&) {
  ReasonsAnswer reasons;
  for (const JobId job : input.jobs) {
    Reason why = why_waiting(state_, placeable_, now_, job);
    if (settles_at_ && why == Reason::fleet_not_heard) why = Reason::restored_lately;
    if (why != Reason::none) reasons.reasons.emplace_back(job, why);
  }
  std::ranges::sort(reasons.reasons);
  answer(input.ticket, std::move(reasons));
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

void Controller::note_devices(const NodeInventory& inventory) {
  for (const Device& device : inventory.devices) device_places_[device.id] = inventory.id;
}

void Controller::record(const NodeId& node, NodeEvent event) {
  if (const auto* reported = std::get_if<NodeReported>(&event)) note_devices(reported->inventory);
  NodeFact fact{node, std::move(event)};
  state_.apply(now_, fact);
  turn_.batch.events.push_back({state_.seq(), now_, std::move(fact)});
  changed_nodes_.insert(node);
}

void Controller::take_due_steps(JobId id) {
  while (const Job* job = state_.find(id)) {
    // It may have been launched after the copy was made that was put back, and begun again
    // elsewhere: until that is known it is neither void nor launched.
    if (settles_at_ && job->state == JobState::reserved) return;
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
  const bool fit = !settles_at_ && session != sessions_.end() && session->second.heard_in_full &&
                   !ahead_.contains(node) && known != nullptr && known->foreign.empty() &&
                   known->state == NodeState::ready &&
                   known->inventory.condition == NodeCondition::fit;
  const bool changed = fit ? placeable_.insert(node).second : placeable_.erase(node) == 1;
  if (changed) cursor_ = {.version = state_.schedule_version() - 1};  // look at everything again
}

void Controller::send(const Duty& duty) {
  const auto session = sessions_.find(duty.node);
  if (session == sessions_.end() || !session->second.heard_in_full) return;
  // Another attempt of it may run, which the store has forgotten.
  const bool begins =
      std::holds_alternative<Prepare>(duty.kind) || std::holds_alternative<Start>(duty.kind);
  if (begins && (settles_at_ || state_.runs_unknown(duty.key.job))) return;
  if (!sent_.insert({duty.key, duty.token, duty.kind.index()}).second) return;
  turn_.to_agents.push_back(
      {duty.node, session->second.number, ToAgent::Ask{session->second.last_report, duty}});
}

void Controller::answer(Ticket ticket, AnswerKind kind) {
  turn_.answers.push_back({ticket, std::move(kind)});
}

void Controller::finish_turn() {
  for (const JobId id : std::exchange(changed_, {})) {
    const bool left_out =
        planted(Plant::row_left_out) && state_.find(id)->state == JobState::finishing;
    if (!left_out) turn_.batch.jobs.push_back(*state_.find(id));
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
