#include "adapters/inbox/inbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace keel {

bool Inbox::post(Input input) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    if (auto* report = std::get_if<AgentReported>(&input)) {
      queue_report(std::move(*report));
    } else {
      check(
          std::holds_alternative<AgentConnected>(input) || std::holds_alternative<AgentGone>(input),
          "a client's request is asked, not posted");
      queue_.push_back({std::move(input)});
    }
  }
  arrived_.notify_one();
  return true;
}

void Inbox::queue_report(AgentReported report) {
  auto none = queue_.end();
  Reports& queued = reports_.try_emplace(report.session, Reports{none, none}).first->second;
  if (report.report.full && queued.heartbeat != none) {
    queue_.erase(queued.heartbeat);
    queued.heartbeat = none;
  }
  auto& place = report.report.full ? queued.full : queued.heartbeat;
  if (place == none) {
    place = queue_.insert(none, Queued{std::move(report)});
  } else {
    place->input = std::move(report);
  }
}

void Inbox::forget_report(Queue::iterator taken) {
  auto reports = reports_.find(std::get<AgentReported>(taken->input).session);
  auto none = queue_.end();
  if (reports->second.full == taken) reports->second.full = none;
  if (reports->second.heartbeat == taken) reports->second.heartbeat = none;
  if (reports->second.full == none && reports->second.heartbeat == none) reports_.erase(reports);
}

Result<Ticket, AskError> Inbox::ask(const std::function<Input(Ticket)>& make,
                                    std::function<void(AnswerKind)> answered) {
  Ticket ticket;
  const Instant now = clock_.now();
  {
    std::lock_guard lock(mutex_);
    if (closed_) return AskError::closed;
    if (requests_ >= requests_max) return AskError::busy;
    ticket = last_ticket_ = Ticket{last_ticket_.value + 1};
    queue_.push_back({make(ticket), true});
    ++requests_;
    waiting_.emplace(ticket, Waiting{std::move(answered), now});
  }
  arrived_.notify_one();
  return ticket;
}

std::vector<Input> Inbox::take(std::size_t max, Instant until) {
  std::unique_lock lock(mutex_);
  while (queue_.empty() && !woken_ && !closed_) {
    Instant now = clock_.now();
    if (now >= until) break;
    // Bounded, since `until` may be `never` and the turn's clock need not run like ours.
    arrived_.wait_for(lock, std::chrono::microseconds(std::min(until - now, minutes(1)).us));
  }
  woken_ = false;
  std::vector<Input> taken;
  while (!queue_.empty() && taken.size() < max) {
    if (std::holds_alternative<AgentReported>(queue_.front().input)) forget_report(queue_.begin());
    if (queue_.front().request) --requests_;
    taken.push_back(std::move(queue_.front().input));
    queue_.pop_front();
  }
  return taken;
}

void Inbox::answer(Answer answer) {
  std::function<void(AnswerKind)> answered;
  {
    std::lock_guard lock(mutex_);
    auto waiting = waiting_.find(answer.ticket);
    if (waiting == waiting_.end()) return;  // closed or given up in the meantime
    answered = std::move(waiting->second.answered);
    waiting_.erase(waiting);
  }
  answered(std::move(answer.kind));
}

void Inbox::committed(Seq seq, const std::vector<JobId>& changed) { feed_.committed(seq, changed); }

void Inbox::wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  arrived_.notify_all();
}

void Inbox::give_up(Duration patience, const std::string& why) {
  std::vector<Waiting> given_up;
  const Instant now = clock_.now();
  {
    std::lock_guard lock(mutex_);
    while (!waiting_.empty() && now - waiting_.begin()->second.since >= patience) {
      given_up.push_back(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    }
  }
  for (const Waiting& one : given_up) one.answered(NotStored{why});
}

void Inbox::close() {
  std::map<Ticket, Waiting> abandoned;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    abandoned.swap(waiting_);
  }
  arrived_.notify_all();
  for (const auto& [ticket, one] : abandoned) {
    one.answered(NotStored{"the control plane is stopping"});
  }
}

}  // namespace keel
