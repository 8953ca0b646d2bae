#include "tests/contract/sample.h"

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "wire/spec.h"

namespace keel {
namespace {

Batch batch_of(const Job& job, JobEvent event) {
  Batch batch;
  batch.events = {{Seq{1}, Instant{seconds(1).us}, JobFact{job.id, std::move(event)}}};
  batch.jobs = {job};
  return batch;
}

Submitted submitted(const Job& job) {
  return {.owner = job.owner,
          .key = job.key,
          .said = job.said,
          .spec = job.spec,
          .shape = job.shape,
          .time_limit = job.time_limit,
          .grace = job.grace,
          .retries = job.retries,
          .start_deadline = job.start_deadline};
}

JobEvent event_into(JobState state) {
  switch (state) {
    case JobState::queued: return Admitted{};
    case JobState::succeeded: return Succeeded{};
    case JobState::failed: return Failed{Reason::program_failed};
    case JobState::canceled: return Canceled{};
    case JobState::expired: return Expired{};
    case JobState::rejected: return Rejected{Reason::exceeds_fleet};
    default: return Silenced{};
  }
}

}  // namespace

JobSpec sample_spec(const std::string& name) {
  return {.name = name,
          .labels = {{"project", "digits"}, {"quote", "a'; --"}},
          .program = "./train",
          .args = {"--epochs", "3", ""},
          .env = {{"OMP_NUM_THREADS", "2"}},
          .files = {{"train", sha256("train"), true}},
          .gang = {.tasks = 1, .gpus_per_task = 2, .gpu_model = "h100-80gb"},
          .cpu_per_task = Millicores{500},
          .memory_per_task = gibibytes(16),
          .time_limit = hours(2),
          .grace = seconds(30),
          .stop_signal = SIGTERM,
          .retries = 3,
          .start_deadline = hours(48)};
}

Node sample_node(const std::string& name) {
  return {.inventory =
              {.id = {name},
               .boot_id = "boot-1",
               .address = "10.0.0.7",
               .cpu = {64'000},
               .memory = gibibytes(512),
               .devices = {{{"GPU-0"}, "h100-80gb", gibibytes(80), DeviceHealth::degraded, true}},
               .warnings = {"no cgroup for pids"}},
          .state = NodeState::unreachable,
          .since = {123'456}};
}

Job sample_job(std::uint64_t id, const std::string& user, const std::string& key) {
  const JobSpec spec = sample_spec("train");
  return {.id = {id},
          .owner = {user, 1000, 1001},
          .key = key,
          .said = sha256("said by " + user),
          .spec = spec_digest(spec),
          .shape = {spec.gang, spec.cpu_per_task, spec.memory_per_task},
          .time_limit = spec.time_limit,
          .grace = spec.grace,
          .retries = spec.retries,
          .start_deadline = spec.start_deadline,
          .state = JobState::accepted,
          .submitted = {seconds(1).us},
          .since = {seconds(1).us},
          .not_before = {7},
          .before_unknown = JobState::launching,
          .attempt = {},
          .token = {},
          .claim_by = {},
          .tasks = {},
          .first_failed = std::nullopt,
          .user_failures = 1,
          .infrastructure_failures = 2,
          .reason = Reason::backing_off};
}

Batch submission_of(const Job& job) { return submission_of(job, sample_spec("train")); }

Batch submission_of(const Job& job, const JobSpec& spec) {
  Job stored = job;
  stored.spec = spec_digest(spec);
  Batch batch = batch_of(stored, submitted(stored));
  batch.specs = {{stored.spec, spec}};
  return batch;
}

Batch change_of(const Job& job, JobState state) {
  Job changed = job;
  changed.state = state;
  return batch_of(changed, event_into(state));
}

Batch reservation_of(const Job& job, FencingToken token, const std::vector<std::string>& devices) {
  Task task{.node = {"node-1"},
            .devices = {},
            .port = 29'400,
            .state = TaskState::reserved,
            .exit = {},
            .started = {},
            .ended = {}};
  for (const std::string& device : devices) task.devices.push_back({device});
  Job reserved = job;
  reserved.state = JobState::reserved;
  reserved.attempt.value += 1;
  reserved.token = token;
  reserved.tasks = {task};

  Reserved event{.token = token,
                 .claim_by = {seconds(60).us},
                 .port = task.port,
                 .slots = {{task.node, task.devices}}};
  Batch batch = batch_of(reserved, std::move(event));
  batch.last_token = token;
  for (const DeviceId& device : task.devices) {
    batch.holdings.push_back({device, true, {job.id, reserved.attempt, 0}, token});
  }
  return batch;
}

Batch settlement_of(const Job& job) {
  Job settled = job;
  settled.state = JobState::succeeded;
  Batch batch = batch_of(settled, TaskSettled{job.token, 0});
  for (Task& task : batch.jobs.front().tasks) {
    task.state = TaskState::settled;
    for (const DeviceId& device : task.devices) {
      batch.holdings.push_back({device, false, {job.id, job.attempt, 0}, job.token});
    }
  }
  return batch;
}

Batch report_of(const Node& node) {
  Batch batch;
  batch.events = {
      {Seq{1}, Instant{seconds(1).us}, NodeFact{node.inventory.id, NodeReported{node.inventory}}}};
  batch.nodes = {node};
  return batch;
}

const Job& job_after(const Batch& batch) {
  check(!batch.jobs.empty(), "the batch changes a job");
  return batch.jobs.front();
}

Batch fit(Batch batch, Seq after, FencingToken last_token) {
  for (StoredEvent& event : batch.events) {
    after.value += 1;
    event.seq = after;
    event.at = Instant{seconds(static_cast<std::int64_t>(after.value)).us};
  }
  batch.last_token = std::max(batch.last_token, last_token);
  return batch;
}

Batch joined(Batch first, const Batch& second) {
  const auto add = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(first.events, second.events);
  add(first.specs, second.specs);
  add(first.jobs, second.jobs);
  add(first.nodes, second.nodes);
  add(first.holdings, second.holdings);
  first.last_token = second.last_token;
  return first;
}

}  // namespace keel
