#include "model/limits.h"
#include "wire/convert.h"
#include "wire/convert_part.h"
#include "wire/text.h"

namespace keel {
namespace {

pb::Task task_to_pb(const Task& task) {
  pb::Task sent;
  sent.set_node(task.node.name);
  add_devices(*sent.mutable_devices(), task.devices);
  sent.set_port(task.port);
  sent.set_state(static_cast<pb::TaskState>(static_cast<int>(task.state) + 1));
  // Most stored tasks have not ended; theirs is left out.
  if (task.state >= TaskState::ended || task.exit != Exit{})
    *sent.mutable_exit() = to_pb(task.exit);
  sent.set_started_us(task.started.us);
  sent.set_ended_us(task.ended.us);
  return sent;
}

Result<Task, BadBytes> task_from_pb(const pb::Task& sent) {
  Task task;
  TRY(node, node_from(sent.node(), "Task.node"));
  TRY(devices, devices_from(sent.devices(), "Task.devices"));
  TRY(port, port_from(sent.port(), "Task.port"));
  TRY(state, enumerator_from(sent.state(), static_cast<int>(TaskState::settled), "Task.state"));
  task.node = std::move(node);
  task.devices = std::move(devices);
  task.port = port;
  task.state = static_cast<TaskState>(state);
  if (sent.has_exit()) {
    TRY(exit, from_pb(sent.exit()));
    task.exit = std::move(exit);
  } else if (task.state >= TaskState::ended) {
    return bad("Task.exit", "missing, although the task has ended");
  }
  task.started = Instant{sent.started_us()};
  task.ended = Instant{sent.ended_us()};
  return task;
}

// What was asked for and by whom: the part that no event changes.
Result<Done, BadBytes> read_submission(const pb::Job& sent, Job& job) {
  TRY(id, job_from(sent.id(), "Job.id"));
  TRY(said, digest_from(sent.said(), "Job.said"));
  TRY(spec, digest_from(sent.spec(), "Job.spec"));
  TRY(shape, shape_from_pb(sent.shape(), "Job.shape"));
  TRY(time_limit, amount_from(sent.time_limit_us(), "Job.time_limit_us"));
  TRY(grace, amount_from(sent.grace_us(), "Job.grace_us"));
  job.id = id;
  job.owner = from_pb(sent.owner());
  job.key = sent.key();
  job.said = said;
  job.spec = spec;
  job.shape = std::move(shape);
  job.time_limit = Duration{time_limit};
  job.grace = Duration{grace};
  job.retries = sent.retries();
  if (sent.has_start_deadline_us()) {
    TRY(deadline, amount_from(sent.start_deadline_us(), "Job.start_deadline_us"));
    job.start_deadline = Duration{deadline};
  }
  return Done{};
}

}  // namespace

pb::JobState to_pb(JobState state) {
  return static_cast<pb::JobState>(static_cast<int>(state) + 1);
}

Result<JobState, BadBytes> from_pb(pb::JobState state) {
  TRY(known, enumerator_from(state, static_cast<int>(JobState::rejected), "JobState"));
  return static_cast<JobState>(known);
}

pb::StopCause to_pb(StopCause cause) {
  return static_cast<pb::StopCause>(static_cast<int>(cause) + 1);
}

Result<StopCause, BadBytes> from_pb(pb::StopCause cause) {
  TRY(known, enumerator_from(cause, static_cast<int>(StopCause::superseded), "StopCause"));
  return static_cast<StopCause>(known);
}

pb::Exit to_pb(const Exit& exit) {
  pb::Exit sent;
  sent.set_kind(static_cast<pb::ExitKind>(static_cast<int>(exit.kind) + 1));
  sent.set_code(exit.code);
  sent.set_cause(to_pb(exit.cause));
  sent.set_out_of_memory(exit.out_of_memory);
  sent.set_clean(exit.clean);
  sent.set_text(std::string(cut(as_utf8(exit.text), limits::exit_text_bytes_max)));
  return sent;
}

Result<Exit, BadBytes> from_pb(const pb::Exit& sent) {
  TRY(kind, enumerator_from(sent.kind(), static_cast<int>(ExitKind::lost), "Exit.kind"));
  TRY(cause, enumerator_from(sent.cause(), static_cast<int>(StopCause::superseded), "Exit.cause"));
  if (sent.text().size() > limits::exit_text_bytes_max)
    return bad("Exit.text", "longer than 256 bytes");
  return Exit{.kind = static_cast<ExitKind>(kind),
              .code = sent.code(),
              .cause = static_cast<StopCause>(cause),
              .out_of_memory = sent.out_of_memory(),
              .clean = sent.clean(),
              .text = sent.text()};
}

pb::Owner to_pb(const Owner& owner) {
  pb::Owner sent;
  sent.set_user(owner.user);
  sent.set_uid(owner.uid);
  sent.set_gid(owner.gid);
  return sent;
}

Owner from_pb(const pb::Owner& sent) {
  return Owner{.user = sent.user(), .uid = sent.uid(), .gid = sent.gid()};
}

pb::Job to_pb(const Job& job) {
  pb::Job sent;
  sent.set_id(print(job.id));
  *sent.mutable_owner() = to_pb(job.owner);
  sent.set_key(job.key);
  sent.set_said(bytes_of(job.said));
  sent.set_spec(bytes_of(job.spec));
  *sent.mutable_shape() = shape_to_pb(job.shape);
  sent.set_time_limit_us(job.time_limit.us);
  sent.set_grace_us(job.grace.us);
  sent.set_retries(job.retries);
  if (job.start_deadline) sent.set_start_deadline_us(job.start_deadline->us);
  sent.set_state(to_pb(job.state));
  sent.set_submitted_us(job.submitted.us);
  sent.set_since_us(job.since.us);
  sent.set_not_before_us(job.not_before.us);
  sent.set_before_unknown(to_pb(job.before_unknown));
  sent.set_attempt(job.attempt.value);
  sent.set_token(job.token.value);
  sent.set_claim_by_us(job.claim_by.us);
  for (const Task& task : job.tasks) *sent.add_tasks() = task_to_pb(task);
  if (job.first_failed) sent.set_first_failed(*job.first_failed);
  sent.set_user_failures(job.user_failures);
  sent.set_infrastructure_failures(job.infrastructure_failures);
  sent.set_reason(word_of(job.reason));
  return sent;
}

Result<Job, BadBytes> from_pb(const pb::Job& sent) {
  Job job;
  TRY(submission, read_submission(sent, job));
  constexpr int last = static_cast<int>(JobState::rejected);
  TRY(state, enumerator_from(sent.state(), last, "Job.state"));
  TRY(before_unknown, enumerator_from(sent.before_unknown(), last, "Job.before_unknown"));
  TRY(reason, reason_from(sent.reason(), "Job.reason"));
  job.state = static_cast<JobState>(state);
  job.submitted = Instant{sent.submitted_us()};
  job.since = Instant{sent.since_us()};
  job.not_before = Instant{sent.not_before_us()};
  job.before_unknown = static_cast<JobState>(before_unknown);
  job.attempt = AttemptNo{sent.attempt()};
  job.token = FencingToken{sent.token()};
  job.claim_by = Instant{sent.claim_by_us()};
  job.tasks.reserve(static_cast<std::size_t>(sent.tasks_size()));
  for (const pb::Task& task : sent.tasks()) {
    TRY(ours, task_from_pb(task));
    job.tasks.push_back(std::move(ours));
  }
  if (sent.has_first_failed()) {
    if (sent.first_failed() >= job.tasks.size()) {
      return bad("Job.first_failed", "there is no task " + std::to_string(sent.first_failed()));
    }
    job.first_failed = sent.first_failed();
  }
  job.user_failures = sent.user_failures();
  job.infrastructure_failures = sent.infrastructure_failures();
  job.reason = reason;
  return job;
}

}  // namespace keel
