#include "wire/convert.h"
#include "wire/convert_part.h"
#include "wire/text.h"

namespace keel {
namespace {

// One overload for each event: it writes itself into its field of the message.
struct EventWriter {
  pb::Event& sent;

  void operator()(const Submitted& event) const {
    pb::Submitted& to = *sent.mutable_submitted();
    *to.mutable_owner() = to_pb(event.owner);
    to.set_key(event.key);
    to.set_said(bytes_of(event.said));
    to.set_spec(bytes_of(event.spec));
    *to.mutable_shape() = shape_to_pb(event.shape);
    to.set_time_limit_us(event.time_limit.us);
    to.set_grace_us(event.grace.us);
    to.set_retries(event.retries);
    if (event.start_deadline) to.set_start_deadline_us(event.start_deadline->us);
  }
  void operator()(const Admitted&) const { sent.mutable_admitted(); }
  void operator()(const Rejected& event) const {
    sent.mutable_rejected()->set_reason(word_of(event.reason));
  }
  void operator()(const Expired&) const { sent.mutable_expired(); }
  void operator()(const Reserved& event) const {
    pb::Reserved& to = *sent.mutable_reserved();
    to.set_token(event.token.value);
    to.set_claim_by_us(event.claim_by.us);
    to.set_port(event.port);
    for (const Slot& slot : event.slots) {
      pb::Slot& next = *to.add_slots();
      next.set_node(slot.node.name);
      add_devices(*next.mutable_devices(), slot.devices);
    }
  }
  void operator()(const Voided& event) const {
    pb::Voided& to = *sent.mutable_voided();
    to.set_token(event.token.value);
    to.set_reason(word_of(event.reason));
    to.set_not_before_us(event.not_before.us);
    to.set_refused(event.refused);
    to.set_text(as_utf8(event.text));
  }
  void operator()(const TaskPrepared& event) const {
    sent.mutable_task_prepared()->set_token(event.token.value);
    sent.mutable_task_prepared()->set_task(event.task);
  }
  void operator()(const Launched& event) const {
    sent.mutable_launched()->set_token(event.token.value);
  }
  void operator()(const TaskStarted& event) const {
    sent.mutable_task_started()->set_token(event.token.value);
    sent.mutable_task_started()->set_task(event.task);
  }
  void operator()(const Started& event) const {
    sent.mutable_started()->set_token(event.token.value);
  }
  void operator()(const TaskEnded& event) const {
    pb::TaskEnded& to = *sent.mutable_task_ended();
    to.set_token(event.token.value);
    to.set_task(event.task);
    *to.mutable_exit() = to_pb(event.exit);
  }
  void operator()(const Ended& event) const { sent.mutable_ended()->set_token(event.token.value); }
  void operator()(const TaskSettled& event) const {
    sent.mutable_task_settled()->set_token(event.token.value);
    sent.mutable_task_settled()->set_task(event.task);
  }
  void operator()(const Succeeded&) const { sent.mutable_succeeded(); }
  void operator()(const Failed& event) const {
    sent.mutable_failed()->set_reason(word_of(event.reason));
  }
  void operator()(const Requeued& event) const {
    sent.mutable_requeued()->set_reason(word_of(event.reason));
    sent.mutable_requeued()->set_not_before_us(event.not_before.us);
  }
  void operator()(const Preempted& event) const {
    sent.mutable_preempted()->set_token(event.token.value);
  }
  void operator()(const Silenced&) const { sent.mutable_silenced(); }
  void operator()(const Heard&) const { sent.mutable_heard(); }
  void operator()(const LateSucceeded& event) const {
    sent.mutable_late_succeeded()->set_token(event.token.value);
  }
  void operator()(const Canceled&) const { sent.mutable_canceled(); }
  void operator()(const NodeReported& event) const {
    *sent.mutable_node_reported()->mutable_inventory() = to_pb(event.inventory);
  }
  void operator()(const NodeSilenced&) const { sent.mutable_node_silenced(); }
  void operator()(const NodeHeard&) const { sent.mutable_node_heard(); }
  void operator()(const ForeignSeen& event) const {
    pb::ForeignSeen& to = *sent.mutable_foreign_seen();
    for (const ForeignTask& task : event.tasks) *to.add_tasks() = foreign_to_pb(task);
  }
};

Result<JobEvent, BadBytes> submitted_from(const pb::Submitted& sent) {
  TRY(said, digest_from(sent.said(), "Submitted.said"));
  TRY(spec, digest_from(sent.spec(), "Submitted.spec"));
  TRY(shape, shape_from_pb(sent.shape(), "Submitted.shape"));
  TRY(time_limit, amount_from(sent.time_limit_us(), "Submitted.time_limit_us"));
  TRY(grace, amount_from(sent.grace_us(), "Submitted.grace_us"));
  Submitted event{.owner = from_pb(sent.owner()),
                  .key = sent.key(),
                  .said = said,
                  .spec = spec,
                  .shape = std::move(shape),
                  .time_limit = {time_limit},
                  .grace = {grace},
                  .retries = sent.retries(),
                  .start_deadline = std::nullopt};
  if (sent.has_start_deadline_us()) {
    TRY(deadline, amount_from(sent.start_deadline_us(), "Submitted.start_deadline_us"));
    event.start_deadline = Duration{deadline};
  }
  return JobEvent{std::move(event)};
}

Result<JobEvent, BadBytes> reserved_from(const pb::Reserved& sent) {
  TRY(port, port_from(sent.port(), "Reserved.port"));
  Reserved event{
      .token = {sent.token()}, .claim_by = {sent.claim_by_us()}, .port = port, .slots = {}};
  for (const pb::Slot& slot : sent.slots()) {
    TRY(node, node_from(slot.node(), "Slot.node"));
    TRY(devices, devices_from(slot.devices(), "Slot.devices"));
    event.slots.push_back(Slot{.node = std::move(node), .devices = std::move(devices)});
  }
  return JobEvent{std::move(event)};
}

Result<JobEvent, BadBytes> voided_from(const pb::Voided& sent) {
  TRY(reason, reason_from(sent.reason(), "Voided.reason"));
  return JobEvent{Voided{.token = {sent.token()},
                         .reason = reason,
                         .not_before = {sent.not_before_us()},
                         .refused = sent.refused(),
                         .text = sent.text()}};
}

Result<JobEvent, BadBytes> requeued_from(const pb::Requeued& sent) {
  TRY(reason, reason_from(sent.reason(), "Requeued.reason"));
  return JobEvent{Requeued{.reason = reason, .not_before = {sent.not_before_us()}}};
}

Result<JobEvent, BadBytes> rejected_from(const pb::Rejected& sent) {
  TRY(reason, reason_from(sent.reason(), "Rejected.reason"));
  return JobEvent{Rejected{reason}};
}

Result<JobEvent, BadBytes> failed_from(const pb::Failed& sent) {
  TRY(reason, reason_from(sent.reason(), "Failed.reason"));
  return JobEvent{Failed{reason}};
}

Result<JobEvent, BadBytes> task_ended_from(const pb::TaskEnded& sent) {
  if (!sent.has_exit()) return bad("TaskEnded.exit", "missing");
  TRY(exit, from_pb(sent.exit()));
  return JobEvent{TaskEnded{{sent.token()}, sent.task(), std::move(exit)}};
}

Result<JobEvent, BadBytes> job_event_from(const pb::Event& sent) {
  switch (sent.event_case()) {
    case pb::Event::kSubmitted: return submitted_from(sent.submitted());
    case pb::Event::kAdmitted: return JobEvent{Admitted{}};
    case pb::Event::kRejected: return rejected_from(sent.rejected());
    case pb::Event::kExpired: return JobEvent{Expired{}};
    case pb::Event::kReserved: return reserved_from(sent.reserved());
    case pb::Event::kVoided: return voided_from(sent.voided());
    case pb::Event::kTaskPrepared:
      return JobEvent{TaskPrepared{{sent.task_prepared().token()}, sent.task_prepared().task()}};
    case pb::Event::kLaunched: return JobEvent{Launched{{sent.launched().token()}}};
    case pb::Event::kTaskStarted:
      return JobEvent{TaskStarted{{sent.task_started().token()}, sent.task_started().task()}};
    case pb::Event::kStarted: return JobEvent{Started{{sent.started().token()}}};
    case pb::Event::kTaskEnded: return task_ended_from(sent.task_ended());
    case pb::Event::kEnded: return JobEvent{Ended{{sent.ended().token()}}};
    case pb::Event::kTaskSettled:
      return JobEvent{TaskSettled{{sent.task_settled().token()}, sent.task_settled().task()}};
    case pb::Event::kSucceeded: return JobEvent{Succeeded{}};
    case pb::Event::kFailed: return failed_from(sent.failed());
    case pb::Event::kRequeued: return requeued_from(sent.requeued());
    case pb::Event::kPreempted: return JobEvent{Preempted{{sent.preempted().token()}}};
    case pb::Event::kSilenced: return JobEvent{Silenced{}};
    case pb::Event::kHeard: return JobEvent{Heard{}};
    case pb::Event::kLateSucceeded: return JobEvent{LateSucceeded{{sent.late_succeeded().token()}}};
    case pb::Event::kCanceled: return JobEvent{Canceled{}};
    case pb::Event::kNodeReported:
    case pb::Event::kNodeSilenced:
    case pb::Event::kNodeHeard:
    case pb::Event::kForeignSeen: return bad("Event.event", "a node's, but its subject is a job");
    case pb::Event::EVENT_NOT_SET: break;
  }
  return bad("Event.event", "missing, or of a kind that is not known here");
}

Result<NodeEvent, BadBytes> node_event_from(const pb::Event& sent) {
  switch (sent.event_case()) {
    case pb::Event::kNodeReported: {
      TRY(inventory, from_pb(sent.node_reported().inventory()));
      return NodeEvent{NodeReported{std::move(inventory)}};
    }
    case pb::Event::kNodeSilenced: return NodeEvent{NodeSilenced{}};
    case pb::Event::kNodeHeard: return NodeEvent{NodeHeard{}};
    case pb::Event::kForeignSeen: {
      TRY(tasks, foreign_from(sent.foreign_seen().tasks(), "ForeignSeen.tasks"));
      return NodeEvent{ForeignSeen{std::move(tasks)}};
    }
    case pb::Event::EVENT_NOT_SET:
      return bad("Event.event", "missing, or of a kind that is not known here");
    default: return bad("Event.event", "a job's, but its subject is a node");
  }
}

Result<Fact, BadBytes> fact_from(const pb::Event& sent) {
  if (sent.subject_case() == pb::Event::kJob) {
    TRY(job, job_from(sent.job(), "Event.job"));
    TRY(event, job_event_from(sent));
    return Fact{JobFact{.job = job, .event = std::move(event)}};
  }
  if (sent.subject_case() == pb::Event::kNode) {
    TRY(node, node_from(sent.node(), "Event.node"));
    TRY(event, node_event_from(sent));
    return Fact{NodeFact{.node = std::move(node), .event = std::move(event)}};
  }
  return bad("Event.subject", "missing");
}

}  // namespace

pb::Event to_pb(const StoredEvent& event) {
  pb::Event sent;
  sent.set_seq(event.seq.value);
  sent.set_at_us(event.at.us);
  if (const auto* fact = std::get_if<JobFact>(&event.fact)) {
    sent.set_job(print(fact->job));
    std::visit(EventWriter{sent}, fact->event);
  } else {
    const auto& node_fact = std::get<NodeFact>(event.fact);
    sent.set_node(node_fact.node.name);
    std::visit(EventWriter{sent}, node_fact.event);
  }
  return sent;
}

Result<StoredEvent, BadBytes> from_pb(const pb::Event& sent) {
  TRY(fact, fact_from(sent));
  return StoredEvent{.seq = {sent.seq()}, .at = {sent.at_us()}, .fact = std::move(fact)};
}

}  // namespace keel
