// From what a person said to a job: defaults, and what an idempotency key answers.
#pragma once

#include <optional>
#include <variant>

#include "model/event.h"
#include "model/ids.h"
#include "model/policy.h"
#include "model/spec.h"

namespace keel {

// The spec with every default filled in.
JobSpec complete(const SaidSpec& said, const Policy& policy);

// A job that a key had made before.
struct Earlier {
  JobId job;
  Digest said{};
};

// What a submission with a key comes to, given the job that the key made before, if any.
enum class KeyVerdict : std::uint8_t {
  fresh,     // make a job
  existing,  // the same was said before: the first answer again
  conflict,  // the key stands for something else
};
KeyVerdict judge_key(const Digest& said, const std::optional<Earlier>& earlier);

// The event that makes the job.
Submitted submitted(const JobSpec& spec, const Digest& spec_digest, const Digest& said,
                    const Owner& owner, const std::string& key);

}  // namespace keel
