// What may wait: events and logs. A poll reads; where it finds nothing new and may wait, it leaves
// a note with the feed (or with the agent) and reads again when that calls, until its time is up.
#include <algorithm>
#include <chrono>

#include "adapters/front/bounds.h"
#include "adapters/front/front.h"
#include "wire/convert.h"

namespace keel {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A log appears a moment after its task has started, and no event tells of that.
constexpr Duration log_retry = milliseconds(300);

constexpr Duration until_deadline = hours(1);  // wait_ms ends it sooner

struct Deadline {
  SteadyClock::time_point at;

  explicit Deadline(std::int32_t wait_ms)
      : at(SteadyClock::now() + std::chrono::milliseconds(wait_ms)) {}

  Duration left() const {
    auto left = std::chrono::duration_cast<std::chrono::microseconds>(at - SteadyClock::now());
    return std::max(Duration{left.count()}, Duration{});
  }
};

pb::ApiError too_many_wait() {
  return refuse(ErrorCode::busy,
                {"wait_ms", "", std::to_string(Feed::waiters_max) + " waiting requests",
                 "Too many requests wait. Ask again without waiting, or later."});
}

pb::ApiError no_log(LogFailure failure, std::uint32_t task, const NodeId& node) {
  const std::string value = std::to_string(task), name = "node " + node.name;
  switch (failure) {
    case LogFailure::not_connected:
      return refuse(
          ErrorCode::unavailable,
          {"task", value, "",
           "Its log lies on " + name + ", whose agent is not connected. Try again later."});
    case LogFailure::timed_out:
      return refuse(
          ErrorCode::unavailable,
          {"task", value, "",
           "Its log lies on " + name + ", whose agent did not answer in time. Try again."});
    case LogFailure::busy:
      return refuse(ErrorCode::busy,
                    {"", "", "", "Too many logs are being read at once. Try again in a moment."});
  }
  return refuse(ErrorCode::internal, {});
}

}  // namespace

struct Front::EventPoll {
  JobId job;
  Seq after;
  std::size_t limit{};
  Deadline deadline;
  Reply<pb::ListEventsResponse> reply;
};

void Front::list_events(const Caller& caller, const pb::ListEventsRequest& request,
                        Reply<pb::ListEventsResponse> reply) {
  if (auto bad = out_of({"limit", 0, events_limit_max}, request.limit())) return reply(*bad);
  if (auto bad = out_of({"wait_ms", 0, wait_ms_max}, request.wait_ms())) return reply(*bad);
  if (request.after() > INT64_MAX) {
    return reply(refuse(ErrorCode::invalid, {"after", std::to_string(request.after()), "",
                                             "Pass the `next` of the answer before."}));
  }
  auto record = find(caller, request.job());
  if (!record) return reply(record.error());
  auto limit = static_cast<std::size_t>(request.limit() ? request.limit() : events_limit_max);
  follow_events(std::make_shared<EventPoll>(EventPoll{
      record->job.id, Seq{request.after()}, limit, Deadline(request.wait_ms()), std::move(reply)}));
}

void Front::follow_events(std::shared_ptr<EventPoll> poll) {
  // In this order, so that nothing is missed: a commit after `seen` wakes us, and a state that is
  // shown has no event that is neither shown nor to come.
  Seq seen = parts_.feed.seq();
  auto record = read(poll->job);
  if (!record) return poll->reply(record.error());
  auto events = parts_.records.events(poll->job, poll->after, poll->limit);
  if (!events) return poll->reply(events_unreadable(events.error(), poll->after));
  Duration left = poll->deadline.left();
  if (events->empty() && left > Duration{} && !parts_.feed.is_closed()) {
    bool waits =
        parts_.feed.wait_for_change(poll->job, seen, left, [this, poll] { follow_events(poll); });
    if (!waits) poll->reply(too_many_wait());
    return;
  }
  pb::ListEventsResponse response;
  response.set_state(to_pb(record->job.state));
  response.set_next(poll->after.value);
  std::size_t bytes = 0;
  for (const StoredEvent& event : *events) {
    if (bytes >= page_bytes) break;
    *response.add_events() = to_pb(event);
    response.set_next(event.seq.value);
    bytes += response.events(response.events_size() - 1).ByteSizeLong();
  }
  poll->reply(std::move(response));
}

struct Front::LogPoll {
  Caller caller;
  pb::ReadLogRequest request;
  JobId job;
  Deadline deadline;
  Reply<pb::ReadLogResponse> reply;
  Seq seen{};

  // Nothing yet, and whether anything may come.
  void reply_nothing(bool end) const {
    pb::ReadLogResponse response;
    response.set_next(request.offset());
    response.set_end(end);
    reply(std::move(response));
  }
};

void Front::read_log(const Caller& caller, const pb::ReadLogRequest& request,
                     Reply<pb::ReadLogResponse> reply) {
  if (auto bad = out_of({"offset", 0, INT64_MAX}, request.offset())) return reply(*bad);
  if (auto bad = out_of({"limit", 0, log_bytes_max}, request.limit())) return reply(*bad);
  if (auto bad = out_of({"wait_ms", 0, wait_ms_max}, request.wait_ms())) return reply(*bad);
  auto record = find(caller, request.job());
  if (!record) return reply(record.error());
  const Job& job = record->job;
  if (!may_act(caller, job.owner)) {
    return reply(refuse(ErrorCode::denied,
                        {"job", print(job.id), "its owner, or an operator",
                         "Only " + job.owner.user + " or an operator may read this job's logs."}));
  }
  if (auto bad = out_of({"task", 0, std::int64_t{job.shape.gang.tasks} - 1}, request.task())) {
    return reply(*bad);
  }
  if (auto bad = out_of({"attempt", 0, job.attempt.value}, request.attempt())) return reply(*bad);
  follow_log(std::make_shared<LogPoll>(
      LogPoll{caller, request, job.id, Deadline(request.wait_ms()), std::move(reply)}));
}

void Front::follow_log(std::shared_ptr<LogPoll> poll) {
  poll->seen = parts_.feed.seq();
  auto record = read(poll->job);
  if (!record) return poll->reply(record.error());
  const Job& job = record->job;
  AttemptNo attempt = poll->request.attempt() ? AttemptNo{poll->request.attempt()} : job.attempt;
  if (attempt == AttemptNo{}) return wait_for_log(std::move(poll), job, until_deadline);
  auto node = node_of(job, attempt, poll->request.task());
  if (!node) return poll->reply(node.error());
  if (!*node) return wait_for_log(std::move(poll), job, until_deadline);
  ask_agent(std::move(poll), job, attempt, **node);
}

void Front::ask_agent(std::shared_ptr<LogPoll> poll, const Job& job, AttemptNo attempt,
                      const NodeId& node) {
  std::uint32_t task = poll->request.task();
  LogQuestion question{{job.id, attempt, task},
                       poll->request.offset(),
                       poll->request.limit() ? poll->request.limit() : log_bytes_default,
                       poll->deadline.left()};
  bool may_appear = attempt == job.attempt && !is_terminal(job.state) && task < job.tasks.size() &&
                    job.tasks[task].state < TaskState::ended;
  auto answered = [this, poll, job, attempt, node, may_appear](auto log) {
    if (!log) return poll->reply(no_log(log.error(), poll->request.task(), node));
    if (*log) return poll->reply(std::move(**log));
    if (may_appear) return wait_for_log(poll, job, log_retry);
    poll->reply(
        refuse(ErrorCode::not_found, {"task", std::to_string(poll->request.task()), "",
                                      "Node " + node.name + " keeps no log of its attempt " +
                                          std::to_string(attempt.value) + "."}));
  };
  parts_.logs.read_log(node, question, std::move(answered));
}

void Front::wait_for_log(std::shared_ptr<LogPoll> poll, const Job& job, Duration at_most) {
  Duration left = std::min(poll->deadline.left(), at_most);
  if (is_terminal(job.state) || left == Duration{} || parts_.feed.is_closed()) {
    return poll->reply_nothing(is_terminal(job.state));
  }
  bool waits =
      parts_.feed.wait_for_change(poll->job, poll->seen, left, [this, poll] { follow_log(poll); });
  if (!waits) poll->reply(too_many_wait());
}

// Where one task of an attempt ran. The job's row knows of the last attempt, its events of all.
Result<std::optional<NodeId>, pb::ApiError> Front::node_of(const Job& job, AttemptNo attempt,
                                                           std::uint32_t task) {
  if (attempt == job.attempt && task < job.tasks.size()) {
    return std::optional<NodeId>(job.tasks[task].node);
  }
  std::uint32_t attempts = 0;
  for (Seq after; true;) {
    auto events = parts_.records.events(job.id, after, 1000);
    if (!events) return events_unreadable(events.error(), after);
    if (events->empty()) return std::optional<NodeId>();
    for (const StoredEvent& event : *events) {
      after = event.seq;
      auto* fact = std::get_if<JobFact>(&event.fact);
      auto* reserved = fact ? std::get_if<Reserved>(&fact->event) : nullptr;
      if (!reserved || ++attempts != attempt.value) continue;
      if (task >= reserved->slots.size()) return std::optional<NodeId>();
      return std::optional<NodeId>(reserved->slots[task].node);
    }
  }
}

}  // namespace keel
