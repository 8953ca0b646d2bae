#include "bench/lives.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/launch.h"
#include "core/submit.h"
#include "wire/spec.h"

namespace keel::bench {
namespace {

constexpr std::uint64_t users = 100;

// As long as those that NVIDIA gives, in the order of `n`.
std::string uuid(std::uint64_t n) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-%08llx-5f3c-4d1e-9a2b-0c55a7b4a2f1",
                static_cast<unsigned long long>(n));
  return text;
}

JobSpec spec_of(std::uint64_t n, Specs specs) {
  const std::string seed = specs == Specs::equal ? "17" : std::to_string(n);
  return {.name = "resnet50",
          .labels = {{"project", "vision"}},
          .program = "python3",
          .args = {"train.py", "--epochs=90", "--batch-size=256", "--lr=0.1", "--seed=" + seed},
          .env = {{"OMP_NUM_THREADS", "8"}, {"NCCL_DEBUG", "WARN"}},
          .files = {},
          .gang = {.tasks = 1, .gpus_per_task = 1, .gpu_model = "h100-80gb"},
          .cpu_per_task = Millicores{8000},
          .memory_per_task = gibibytes(64),
          .time_limit = hours(24),
          .grace = seconds(30),
          .stop_signal = SIGTERM,
          .retries = 2,
          .start_deadline = std::nullopt};
}

}  // namespace

SubmitInput submission(std::uint64_t n, Specs specs) {
  const JobSpec spec = spec_of(n, specs);
  const auto user = static_cast<std::uint32_t>(n % users);
  const Digest digest = spec_digest(spec);
  return {.ticket = {n},
          .owner = {"user-" + std::to_string(user), 1000 + user, 1000},
          .key = "run-" + std::to_string(n),
          .said = digest,
          .spec_digest = digest,
          .spec = spec};
}

Lives::Lives(Store& store, Epoch epoch, Specs specs, std::uint32_t jobs_at_once)
    : store_(&store), epoch_(epoch), specs_(specs), now_{hours(24 * 365 * 50).us} {
  NodeInventory inventory{.id = {"gpu-node-001"},
                          .boot_id = "d2b5f1a4-8c1e-4e0f-9a34-0c55a7b4a2f1",
                          .address = "10.0.0.1",
                          .cpu = {1'000'000'000},
                          .memory = gibibytes(1 << 20)};
  for (std::uint32_t i = 0; i < jobs_at_once; ++i) {
    devices_.push_back({uuid(i)});
    inventory.devices.push_back(
        {devices_.back(), "h100-80gb", gibibytes(80), DeviceHealth::healthy, false});
  }
  const NodeFact fact{inventory.id, NodeReported{inventory}};
  state_.apply(now_, fact);
  batch_.events.push_back({state_.seq(), now_, fact});
  batch_.nodes.push_back(*state_.find(inventory.id));
}

void Lives::record(const JobId& job, JobEvent event) {
  const JobFact fact{job, std::move(event)};
  check(state_.apply(now_, fact).has_value(), "a life follows the table of states");
  batch_.events.push_back({state_.seq(), now_, fact});
}

void Lives::take_due_steps(const JobId& job) {
  while (const auto step = next_step(*state_.find(job), now_, policy_)) record(job, *step);
}

Lives::Ids Lives::submit(std::uint32_t count) {
  Ids jobs;
  for (std::uint32_t i = 0; i < count; ++i) {
    const SubmitInput input = submission(submitted_++, specs_);
    // As adapters/clock/ids.h makes them: the time, then chance.
    const JobId id{submitted_ << 22 | (random_() & 0x3f'ffff)};
    record(id, submitted(input.spec, input.spec_digest, input.said, input.owner, input.key));
    batch_.specs.emplace_back(input.spec_digest, input.spec);
    take_due_steps(id);
    jobs.push_back(id);
  }
  return jobs;
}

void Lives::reserve(const Ids& jobs) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    record(jobs[i], Reserved{.token = {state_.last_token().value + 1},
                             .claim_by = now_ + policy_.claim_for,
                             .port = static_cast<std::uint16_t>(29'400 + i),
                             .slots = {{{"gpu-node-001"}, {devices_[i]}}}});
  }
}

Result<Done, StoreError> Lives::store(const Ids& changed) {
  for (const JobId& job : changed) {
    batch_.jobs.push_back(*state_.find(job));
    state_.forget_if_over(job);
  }
  batch_.holdings = state_.take_holding_changes();
  batch_.last_token = state_.last_token();
  TRY(seq, store_->append(epoch_, after_, std::exchange(batch_, {})));
  after_ = seq;
  now_ = now_ + seconds(1);
  return Done{};
}

Result<Done, StoreError> Lives::play(std::uint64_t jobs) {
  while (jobs > 0) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(jobs, devices_.size()));
    jobs -= count;
    Ids ids = submit(count);
    TRY(submitted, store(ids));
    reserve(ids);
    TRY(reserved, store(ids));
    TRY(ran, run(std::move(ids)));
  }
  return Done{};
}

Result<Done, StoreError> Lives::play_in_vain() {
  const Ids ids = submit(static_cast<std::uint32_t>(devices_.size()));
  TRY(submitted, store(ids));
  reserve(ids);
  TRY(reserved, store(ids));
  Ids canceled, waiting;
  for (std::size_t i = 0; i < ids.size(); ++i) (i % 2 == 0 ? canceled : waiting).push_back(ids[i]);
  for (const JobId& job : canceled) record(job, Canceled{});
  TRY(ended, store(canceled));
  now_ = now_ + policy_.claim_for;
  for (const JobId& job : waiting) take_due_steps(job);
  TRY(voided, store(waiting));
  now_ = now_ + policy_.backoff_max;
  reserve(waiting);
  TRY(reserved_anew, store(waiting));
  return run(waiting);
}

// What the agent reports, each in a turn of its own.
Result<Done, StoreError> Lives::run(Ids jobs) {
  const Exit exit{ExitKind::exited, 0, StopCause::none, false, true, {}};
  for (int report = 0; report < 4; ++report) {
    std::ranges::shuffle(jobs, random_);
    for (const JobId& job : jobs) {
      const FencingToken token = state_.find(job)->token;
      const JobEvent heard[] = {TaskPrepared{token, 0}, TaskStarted{token, 0},
                                TaskEnded{token, 0, exit}, TaskSettled{token, 0}};
      record(job, heard[report]);
      take_due_steps(job);
    }
    TRY(stored, store(jobs));
  }
  for (const JobId& job : jobs) check(state_.find(job) == nullptr, "every life is over");
  return Done{};
}

}  // namespace keel::bench
