#include <algorithm>

#include "base/check.h"
#include "model/limits.h"
#include "wire/convert.h"
#include "wire/convert_part.h"
#include "wire/spec.h"
#include "wire/task_key.h"
#include "wire/text.h"

namespace keel {
namespace {

Result<TaskReport, BadBytes> task_report_from(const pb::TaskReport& sent) {
  constexpr int last = static_cast<int>(TaskPhase::refused);
  TaskReport report;
  TRY(job, job_from(sent.job(), "TaskReport.job"));
  TRY(phase, enumerator_from(sent.phase(), last, "TaskReport.phase"));
  TRY(refusal, reason_from(sent.refusal(), "TaskReport.refusal"));
  report.key = TaskKey{.job = job, .attempt = {sent.attempt()}, .task = sent.task()};
  report.token = FencingToken{sent.token()};
  report.phase = static_cast<TaskPhase>(phase);
  if (sent.has_exit()) {
    TRY(exit, from_pb(sent.exit()));
    report.exit = std::move(exit);
  } else if (report.phase == TaskPhase::ended || report.phase == TaskPhase::settled) {
    return bad("TaskReport.exit", "missing, although the task has ended");
  }
  if (sent.text().size() > limits::exit_text_bytes_max) {
    return bad("TaskReport.text", "longer than 256 bytes");
  }
  report.refusal = refusal;
  report.text = sent.text();
  return report;
}

pb::TaskReport task_report_to_pb(const TaskReport& report) {
  pb::TaskReport sent;
  set_task_key(sent, report.key);
  sent.set_token(report.token.value);
  sent.set_phase(to_pb(report.phase));
  const bool ended = report.phase == TaskPhase::ended || report.phase == TaskPhase::settled;
  if (ended || report.exit != Exit{}) *sent.mutable_exit() = to_pb(report.exit);
  sent.set_refusal(word_of(report.refusal));
  sent.set_text(std::string(cut(as_utf8(report.text), limits::exit_text_bytes_max)));
  return sent;
}

// One overload for each kind of duty: it writes itself into its field of the message.
struct DutyWriter {
  pb::ServerMessage& sent;
  pb::TaskRef ref;
  const JobSpec* spec;

  void operator()(const Prepare& duty) const {
    check(spec != nullptr, "a Prepare is sent with its spec");
    pb::Prepare& to = *sent.mutable_prepare();
    *to.mutable_ref() = ref;
    add_devices(*to.mutable_devices(), duty.devices);
    *to.mutable_owner() = to_pb(duty.owner);
    *to.mutable_spec() = to_pb(*spec);
    to.set_claim_for_us(duty.claim_for.us);
    to.set_tasks(duty.tasks);
    to.set_master_address(duty.master_address);
    to.set_master_port(duty.master_port);
  }
  void operator()(const Start&) const { *sent.mutable_start()->mutable_ref() = ref; }
  void operator()(const Stop& duty) const {
    *sent.mutable_stop()->mutable_ref() = ref;
    sent.mutable_stop()->set_cause(to_pb(duty.cause));
  }
  void operator()(const Commit&) const { *sent.mutable_commit()->mutable_ref() = ref; }
  void operator()(const Release&) const { *sent.mutable_release()->mutable_ref() = ref; }
};

Result<DutyKind, BadBytes> prepare_from(const pb::Prepare& sent, ReceivedDuty& received) {
  if (!sent.has_spec()) return bad("Prepare.spec", "missing");
  TRY(spec, normalised_from_pb(sent.spec()));
  TRY(devices, devices_from(sent.devices(), "Prepare.devices"));
  TRY(claim_for, amount_from(sent.claim_for_us(), "Prepare.claim_for_us"));
  TRY(port, port_from(sent.master_port(), "Prepare.master_port"));
  // The spec's row is named by its content, so the name need not travel.
  const Digest named = spec_digest(spec);
  received.spec = std::move(spec);
  return DutyKind{Prepare{.devices = std::move(devices),
                          .owner = from_pb(sent.owner()),
                          .spec = named,
                          .claim_for = {claim_for},
                          .tasks = sent.tasks(),
                          .master_address = sent.master_address(),
                          .master_port = port}};
}

Result<DutyKind, BadBytes> stop_from(const pb::Stop& sent) {
  TRY(cause, enumerator_from(sent.cause(), static_cast<int>(StopCause::superseded), "Stop.cause"));
  return DutyKind{Stop{static_cast<StopCause>(cause)}};
}

// The part that every duty has; null where the message is no duty.
const pb::TaskRef* ref_of(const pb::ServerMessage& message) {
  switch (message.message_case()) {
    case pb::ServerMessage::kPrepare: return &message.prepare().ref();
    case pb::ServerMessage::kStart: return &message.start().ref();
    case pb::ServerMessage::kStop: return &message.stop().ref();
    case pb::ServerMessage::kCommit: return &message.commit().ref();
    case pb::ServerMessage::kRelease: return &message.release().ref();
    default: return nullptr;
  }
}

Result<DutyKind, BadBytes> kind_from(const pb::ServerMessage& message, ReceivedDuty& received) {
  switch (message.message_case()) {
    case pb::ServerMessage::kPrepare: return prepare_from(message.prepare(), received);
    case pb::ServerMessage::kStart: return DutyKind{Start{}};
    case pb::ServerMessage::kStop: return stop_from(message.stop());
    case pb::ServerMessage::kCommit: return DutyKind{Commit{}};
    case pb::ServerMessage::kRelease: return DutyKind{Release{}};
    default: return bad("ServerMessage.message", "no duty");
  }
}

}  // namespace

pb::TaskPhase to_pb(TaskPhase phase) {
  return static_cast<pb::TaskPhase>(static_cast<int>(phase) + 1);
}

Result<TaskPhase, BadBytes> from_pb(pb::TaskPhase phase) {
  TRY(known, enumerator_from(phase, static_cast<int>(TaskPhase::refused), "TaskPhase"));
  return static_cast<TaskPhase>(known);
}

pb::Report to_pb(const Report& report) {
  pb::Report sent;
  sent.set_number(report.number.value);
  sent.set_full(report.full);
  if (report.inventory) *sent.mutable_inventory() = to_pb(*report.inventory);
  for (const TaskReport& task : report.tasks) *sent.add_tasks() = task_report_to_pb(task);
  return sent;
}

Result<Report, BadBytes> from_pb(const pb::Report& sent) {
  Report report;
  report.number = ReportNo{sent.number()};
  report.full = sent.full();
  if (sent.has_inventory()) {
    TRY(inventory, from_pb(sent.inventory()));
    report.inventory = std::move(inventory);
  }
  for (const pb::TaskReport& task : sent.tasks()) {
    TRY(ours, task_report_from(task));
    report.tasks.push_back(std::move(ours));
  }
  std::sort(report.tasks.begin(), report.tasks.end(),
            [](const TaskReport& a, const TaskReport& b) { return a.key < b.key; });
  const auto twice =
      std::adjacent_find(report.tasks.begin(), report.tasks.end(),
                         [](const TaskReport& a, const TaskReport& b) { return a.key == b.key; });
  if (twice != report.tasks.end()) {
    return bad("Report.tasks", print(twice->key) + " stands twice");
  }
  return report;
}

pb::ServerMessage to_pb(const Duty& duty, Epoch epoch, ReportNo answers, const JobSpec* spec) {
  pb::ServerMessage sent;
  pb::TaskRef ref;
  set_task_key(ref, duty.key);
  ref.set_token(duty.token.value);
  ref.set_answers(answers.value);
  ref.set_epoch(epoch.value);
  std::visit(DutyWriter{sent, ref, spec}, duty.kind);
  return sent;
}

Result<ReceivedDuty, BadBytes> duty_from_pb(const pb::ServerMessage& message, const NodeId& node) {
  const pb::TaskRef* ref = ref_of(message);
  if (ref == nullptr) return bad("ServerMessage.message", "no duty");
  TRY(job, job_from(ref->job(), "TaskRef.job"));
  ReceivedDuty received;
  TRY(kind, kind_from(message, received));
  received.duty = Duty{.node = node,
                       .key = {.job = job, .attempt = {ref->attempt()}, .task = ref->task()},
                       .token = {ref->token()},
                       .kind = std::move(kind)};
  received.epoch = Epoch{ref->epoch()};
  received.answers = ReportNo{ref->answers()};
  return received;
}

}  // namespace keel
