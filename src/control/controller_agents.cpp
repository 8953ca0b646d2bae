// Agents come, report, fall silent and go: what that means for nodes and the jobs on them.
#include <algorithm>
#include <utility>

#include "base/plant.h"
#include "control/controller.h"
#include "core/launch.h"
#include "core/reconcile.h"

namespace keel {
namespace {

constexpr Duration silence_check_every = seconds(1);

constexpr const char* another_agents_tasks =
    "the node still has tasks of another agent; start that one again, with its state directory, or "
    "wait until they have surely ended";

}  // namespace

// Of ours, or foreign.
bool Controller::has_tasks(const NodeId& node) const {
  return !state_.jobs_on(node).empty() || !state_.find(node)->foreign.empty();
}

// What another agent has claimed is on a disk that this one does not know.
bool Controller::holds_tasks_of_another(const NodeInventory& inventory) const {
  const Node* node = state_.find(inventory.id);
  if (planted(Plant::lost_disk_not_noticed)) return false;
  return node != nullptr && node->inventory.agent_id != inventory.agent_id &&
         has_tasks(inventory.id);
}

// Why these devices cannot be this node's, if they cannot: each is where it was reported first, as
// long as that node is heard or holds anything. Two nodes with one device would both be given work
// on it.
std::optional<std::string> Controller::claimed_elsewhere(const NodeInventory& inventory) const {
  for (const Device& device : inventory.devices) {
    const auto place = device_places_.find(device.id);
    if (place == device_places_.end() || place->second == inventory.id) continue;
    const NodeId& other = place->second;
    const bool left = state_.find(other)->state == NodeState::unreachable && !has_tasks(other);
    if (!left) return "device " + device.id.uuid + " is that of node " + other.name;
  }
  return std::nullopt;
}

void Controller::refuse(const NodeId& node, SessionNo session, std::string why) {
  turn_.to_agents.push_back({node, session, ToAgent::Refuse{std::move(why)}});
}

void Controller::hear(const AgentConnected& input, const Lookups&) {
  if (holds_tasks_of_another(input.inventory)) {
    return refuse(input.node, input.session, another_agents_tasks);
  }
  if (auto why = claimed_elsewhere(input.inventory)) {
    return refuse(input.node, input.session, *std::move(why));
  }
  Session& session = sessions_[input.node];
  if (input.session <= session.number) return;  // overtaken by a newer connection
  session = {.number = input.session};
  if (input.newest_token > state_.last_token() && ahead_.insert(input.node).second) {
    notices_.push_back("node " + input.node.name + " has seen token " +
                       std::to_string(input.newest_token.value) + ", and the last one here is " +
                       std::to_string(state_.last_token().value) +
                       ": is this an older copy of the store? Nothing is placed there until keeld "
                       "was run once with --restored");
  }
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
  if (auto why = inventory ? claimed_elsewhere(*inventory) : std::nullopt) {
    sessions_.erase(node);
    update_placeable(node);
    return refuse(node, input.session, *std::move(why));
  }
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
  // On which devices they are, nobody knows.
  if (told.foreign != state_.find(node)->foreign) record(node, ForeignSeen{told.foreign});
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
  const bool foreign = !state_.find(node)->foreign.empty();
  if (foreign && silent >= proof_of_loss(policy_.grace_max, policy_)) record(node, ForeignSeen{});
  for (const auto& [id, count] : on_node) {
    const Job& job = *state_.find(id);
    if (job.state == JobState::reserved || silent < proof_of_loss(job.grace, policy_)) continue;
    for (const JobFact& fact : facts_of_loss(job, node)) record(fact.job, fact.event);
    take_due_steps(id);
  }
}

}  // namespace keel
