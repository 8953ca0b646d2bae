// AgentCore in one connection: what it reports, and what it may conclude from being heard.
#include <algorithm>

#include "agent/attempt.h"
#include "base/plant.h"

namespace keel {
namespace {

constexpr Duration full_report_every = minutes(1);
constexpr std::size_t reports_remembered = 256;

}  // namespace

void AgentCore::connected() {
  sent_.clear();
  released_.clear();
  last_report_ = {};
  terms_.reset();
}

void AgentCore::disconnected() { terms_.reset(); }

std::vector<AgentAction> AgentCore::welcomed(const AgentTerms& terms, Instant) {
  terms_ = terms;
  accepted_ = true;
  disconnect_stop_ = terms.disconnect_stop;
  report_changed_ = true;  // the first report of a connection is full
  bool raised = false;
  for (const auto& [device, token] : terms.floors) {
    // The live reservation itself may still have to be prepared here: only what is older is over.
    FencingToken floor{token.value == 0 ? 0 : token.value - 1};
    if (planted(Plant::equal_token_refused)) floor = token;
    if (floors_[device] >= floor) continue;
    floors_[device] = floor;
    raised = true;
  }
  if (!raised) return {};
  return {WriteFloors{}};
}

std::vector<AgentAction> AgentCore::acknowledged(ReportNo number, Instant now) {
  Actions actions;
  if (const auto sent = sent_at(number)) {
    const Instant from = planted(Plant::lease_from_the_wrong_clock) ? now : *sent;
    lease_ = std::max(lease_, from + disconnect_stop_);
    extend_leases(actions);
  }
  return actions;
}

void AgentCore::inventory_changed(NodeInventory inventory) {
  if (inventory == inventory_) return;
  inventory_ = std::move(inventory);
  report_changed_ = true;
}

std::optional<Report> AgentCore::report_due(Instant now) {
  if (!terms_) return std::nullopt;
  const bool full = report_changed_ || now - last_full_ >= full_report_every;
  const bool beat = now - last_sent_ >= terms_->heartbeat;
  if (!full && !beat) return std::nullopt;
  last_report_.value += 1;
  last_sent_ = now;
  sent_[last_report_] = now;
  if (sent_.size() > reports_remembered) {
    sent_.erase(sent_.begin());
    std::erase_if(released_, [&](const auto& one) { return one.second < sent_.begin()->first; });
  }
  Report report{.number = last_report_, .full = full};
  if (!full) return report;
  report_changed_ = false;
  last_full_ = now;
  report.inventory = inventory_;
  for (const auto& [key, claim] : claims_) {
    report.tasks.push_back({.key = key,
                            .token = claim.token,
                            .phase = claim.phase,
                            .exit = claim.exit,
                            .refusal = claim.refusal,
                            .text = claim.text});
  }
  for (const TaskKey& stray : strays_) {
    report.tasks.push_back({.key = stray, .token = {}, .phase = TaskPhase::running});
  }
  std::ranges::sort(report.tasks, {}, &TaskReport::key);
  return report;
}

// Shims are told in steps: a lease that grows with each heartbeat need not be written each time.
void AgentCore::extend_leases(Actions& actions) {
  const Duration step{std::min(seconds(10).us, disconnect_stop_.us / 10)};
  if (lease_ - lease_written_ < step) return;
  lease_written_ = lease_;
  for (const auto& [key, claim] : claims_) {
    if (claim.started && is_live(claim)) actions.push_back(ExtendLease{key, lease_});
  }
}

FencingToken AgentCore::newest_token() const {
  FencingToken newest;
  for (const auto& [device, token] : floors_) newest = std::max(newest, token);
  for (const auto& [key, claim] : claims_) newest = std::max(newest, claim.token);
  return newest;
}

// A PREPARE that was on its way when its attempt was released comes too late. Where it names
// devices their tokens tell, and it is refused on record; a task without any has no other mark.
bool AgentCore::was_released_since(const TaskKey& key, ReportNo report) const {
  const auto released = released_.find(key);
  return released != released_.end() && report <= released->second;
}

std::optional<Instant> AgentCore::sent_at(ReportNo number) const {
  const auto sent = sent_.find(number);
  if (sent == sent_.end()) return std::nullopt;
  return sent->second;
}

}  // namespace keel
