#include "control/turn.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/plant.h"

namespace keel {
namespace {

constexpr std::size_t specs_kept_max = 1024;
constexpr Duration confirm_every = seconds(5);

}  // namespace

Leader::Leader(const Policy& policy, Ports ports, const Recovered& recovered)
    : policy_(policy),
      ports_(ports),
      epoch_(recovered.epoch),
      controller_(policy, recovered.epoch, recovered.loaded,
                  std::max(ports.clock.now(), recovered.loaded.at)) {}

Result<Done, StoreError> Leader::take_turn(Instant until) {
  if (!decided_) {
    if (heard_.empty()) {
      const Instant wake = std::min(until, next_wake());
      heard_ = ports_.inputs.take(policy_.inputs_per_turn_max, wake);
    }
    TRY(lookups, look_up());
    decided_ = controller_.decide(ports_.clock.now(), std::exchange(heard_, {}), lookups);
  }
  if (planted(Plant::effect_before_commit)) {
    const Turn turn = *decided_;
    TRY(early, speak());
    decided_ = turn;
  }
  TRY(written, write());
  TRY(spoken, speak());
  return Done{};
}

// Everything that the inputs need from the store, read before deciding. On an error the inputs
// stay.
Result<Lookups, StoreError> Leader::look_up() {
  std::vector<SubmitKey> keys;
  std::set<JobId> jobs;
  std::size_t submissions = 0;
  for (const Input& input : heard_) {
    if (const auto* submit = std::get_if<SubmitInput>(&input)) {
      ++submissions;
      if (!submit->key.empty()) keys.push_back({submit->owner.user, submit->key});
    } else if (const auto* cancel = std::get_if<CancelInput>(&input)) {
      if (controller_.state().find(cancel->job) == nullptr) jobs.insert(cancel->job);
    }
  }
  Lookups lookups;
  if (!keys.empty() && !planted(Plant::key_not_looked_up)) {
    TRY(rows, ports_.store.find_keys(keys));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (rows[i]) lookups.keys.insert_or_assign(keys[i], Earlier{rows[i]->job, rows[i]->said});
    }
  }
  if (!jobs.empty()) {
    TRY(rows, ports_.store.find_jobs({jobs.begin(), jobs.end()}));
    for (Job& job : rows) lookups.jobs.insert_or_assign(job.id, std::move(job));
  }
  TRY(drawn, draw_ids(submissions, lookups.fresh_ids));
  return lookups;
}

Result<Done, StoreError> Leader::draw_ids(std::size_t count, std::vector<JobId>& ids) {
  const Instant now = ports_.clock.now();
  std::set<JobId> drawn;
  while (drawn.size() < count) {
    std::set<JobId> more;
    while (drawn.size() + more.size() < count) {
      const JobId id = ports_.ids.next_job(now);
      const bool known = controller_.state().find(id) != nullptr || drawn.contains(id);
      if (id.value != 0 && !known) more.insert(id);
    }
    TRY(taken, ports_.store.find_jobs({more.begin(), more.end()}));
    for (const Job& job : taken) more.erase(job.id);
    drawn.merge(more);
  }
  ids.assign(drawn.begin(), drawn.end());
  return Done{};
}

Result<Done, StoreError> Leader::write() {
  if (decided_->batch.events.empty() && !decided_->batch.settles) return confirm_leadership();
  const auto seq = ports_.store.append(epoch_, decided_->after, decided_->batch);
  confirm_at_ = ports_.clock.now() + confirm_every;
  if (seq) return Done{};
  if (planted(Plant::unknown_commit_taken_for_done) &&
      seq.error().code == StoreError::Code::unknown) {
    return Done{};
  }
  if (seq.error().code != StoreError::Code::unavailable) {
    for (const Answer& answer : decided_->answers) {
      ports_.callers.answer({answer.ticket, NotStored{seq.error().detail}});
    }
    decided_.reset();
  }
  return seq.error();
}

Result<Done, StoreError> Leader::confirm_leadership() {
  const Instant now = ports_.clock.now();
  if (now < confirm_at_) return Done{};
  TRY(confirmed, ports_.store.confirm(epoch_));
  confirm_at_ = now + confirm_every;
  return Done{};
}

// The turn is durable: tell everybody. Duties whose spec cannot be read now are asked for again.
Result<Done, StoreError> Leader::speak() {
  const Turn turn = *std::exchange(decided_, std::nullopt);
  if (!turn.batch.events.empty()) {
    std::vector<JobId> changed;
    for (const Job& job : turn.batch.jobs) changed.push_back(job.id);
    ports_.callers.committed(turn.batch.events.back().seq, changed);
  }
  for (const Answer& answer : turn.answers) ports_.callers.answer(answer);
  for (const ToAgent& out : turn.to_agents) {
    if (const auto* welcome = std::get_if<Agents::Welcome>(&out.message)) {
      ports_.agents.welcome(out.node, out.session, *welcome);
    } else if (const auto* ack = std::get_if<ToAgent::Ack>(&out.message)) {
      ports_.agents.acknowledge(out.node, out.session, ack->report);
    } else if (const auto* refusal = std::get_if<ToAgent::Refuse>(&out.message)) {
      ports_.agents.refuse(out.session, refusal->why);
    } else {
      const auto& due = std::get<ToAgent::Ask>(out.message);
      const auto spec = spec_of(due.duty);
      if (!spec && spec.error().code == StoreError::Code::unreadable) return spec.error();
      if (spec) ports_.agents.send(out.session, epoch_, due.answers, due.duty, *spec);
    }
  }
  return Done{};
}

// Null for a duty that needs no spec.
Result<const JobSpec*, StoreError> Leader::spec_of(const Duty& duty) {
  const JobSpec* none = nullptr;
  const auto* prepare = std::get_if<Prepare>(&duty.kind);
  if (prepare == nullptr) return none;
  const auto kept = specs_.find(prepare->spec);
  if (kept != specs_.end()) return static_cast<const JobSpec*>(&kept->second);
  TRY(spec, ports_.store.spec(prepare->spec));
  if (!spec) {
    return StoreError{StoreError::Code::unreadable, "the spec of " + print(duty.key) + " is gone"};
  }
  if (specs_.size() >= specs_kept_max) specs_.clear();
  return static_cast<const JobSpec*>(&(specs_[prepare->spec] = *std::move(spec)));
}

}  // namespace keel
