#include "core/submit.h"

#include <csignal>
#include <string>

namespace keel {
namespace {

std::string base_name(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  return slash == std::string::npos ? program : program.substr(slash + 1);
}

}  // namespace

JobSpec complete(const SaidSpec& said, const Policy& policy) {
  const Duration limit = said.time_limit.value_or(policy.time_limit_default);
  // The grace lies inside the limit; a default must not swallow a short one whole.
  const Duration grace = std::min(policy.grace_default, Duration{limit.us / 2});
  return {.name = said.name.value_or(base_name(said.program)),
          .labels = said.labels,
          .program = said.program,
          .args = said.args,
          .env = said.env,
          .files = said.files,
          .gang = {.tasks = said.gang.tasks.value_or(1),
                   .gpus_per_task = said.gang.gpus_per_task.value_or(0),
                   .gpu_model = said.gang.gpu_model.value_or("")},
          .cpu_per_task = said.cpu_per_task,
          .memory_per_task = said.memory_per_task,
          .time_limit = limit,
          .grace = std::min(said.grace.value_or(grace), policy.grace_max),
          .stop_signal = said.stop_signal.value_or(SIGTERM),
          .retries = said.retries.value_or(0),
          .start_deadline = said.start_deadline};
}

KeyVerdict judge_key(const Digest& said, const std::optional<Earlier>& earlier) {
  if (!earlier) return KeyVerdict::fresh;
  return earlier->said == said ? KeyVerdict::existing : KeyVerdict::conflict;
}

Submitted submitted(const JobSpec& spec, const Digest& spec_digest, const Digest& said,
                    const Owner& owner, const std::string& key) {
  return {.owner = owner,
          .key = key,
          .said = said,
          .spec = spec_digest,
          .shape = {.gang = spec.gang,
                    .cpu_per_task = spec.cpu_per_task,
                    .memory_per_task = spec.memory_per_task},
          .time_limit = spec.time_limit,
          .grace = spec.grace,
          .retries = spec.retries,
          .start_deadline = spec.start_deadline};
}

}  // namespace keel
