// From a reservation to an end: which decision is due next for a job, and what agents should be
// doing for it now. Both read state alone and never ask what happened before, so restarts, lost and
// repeated messages need no code of their own.
#pragma once

#include <optional>
#include <vector>

#include "core/state.h"
#include "model/duty.h"
#include "model/event.h"
#include "model/job.h"
#include "model/policy.h"

namespace keel {

// How an attempt ended, once all of its tasks have.
struct Verdict {
  enum class Kind : std::uint8_t {
    success,
    user_failure,    // the program's own; counts against `retries`
    final_failure,   // trying again would end the same way
    infrastructure,  // the platform's or a host's; has a bound of its own
    preemption,
  };
  Kind kind{};
  Reason reason{};
};
Verdict verdict(const Job& job);

// When a job that was just put back may be placed again.
Instant next_try(const Job& job, Instant now, const Policy& policy);

// The decision that is due for `job` at `now`, or nothing where it waits for somebody. Applying it
// may make another one due: ask again.
std::optional<JobEvent> next_step(const Job& job, Instant now, const Policy& policy);

// What the agents of this job's tasks should be doing now. Asked any number of times.
std::vector<Duty> duties(const Job& job, const State& state, const Policy& policy);

// The same for one task; nothing where its agent has nothing to do.
std::optional<Duty> duty(const Job& job, std::uint32_t task, const State& state,
                         const Policy& policy);

}  // namespace keel
