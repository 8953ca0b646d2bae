// The life of one job: what each stored event makes of it. docs/job-states.md is the specification,
// and lifecycle_test.cpp reads it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/event.h"
#include "model/job.h"

namespace keel {

enum class TransitionError : std::uint8_t {
  stale,       // old news, said late or twice: drop it
  impossible,  // breaks the protocol: drop it, count it, raise an alarm
};

// A new job, `accepted`.
Job create(JobId id, Instant at, const Submitted& event);

// Makes of `job` what it is after `event`, or leaves it untouched and says why. Total: answers for
// every state and event. Deterministic; never asks what should happen next.
// Applying a job's stored events in order to `create` gives the job exactly.
Result<Done, TransitionError> apply(Job& job, Instant at, const JobEvent& event);

// Whether the attempt was brought to its end by this task: it ended badly, and nobody asked it to.
bool failed_by_itself(const Exit& exit);

}  // namespace keel
