// One turn of the control plane: hear, look up, decide, write down, and only then speak.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "control/controller.h"
#include "control/recover.h"
#include "model/policy.h"
#include "ports/clock.h"
#include "ports/ids.h"
#include "ports/inputs.h"
#include "ports/store.h"

namespace keel {

// What differs between production and a test.
struct Ports {
  Clock& clock;
  Store& store;
  Inputs& inputs;
  Callers& callers;
  Agents& agents;
  Ids& ids;
};

// The leader: a controller and the store it writes to. One thread calls it.
class Leader {
 public:
  // Leads from what was recovered. Nothing is sent before the first turn.
  Leader(const Policy& policy, Ports ports, const Recovered& recovered);

  // Takes one turn, waiting for inputs until the next thing that is due, or `until`.
  //
  // On `unavailable` nothing was said to anybody and nothing is lost: call again, after a pause.
  // On any other error this leader is dead: where the turn could not be written it has answered
  // NotStored to its callers, and the process must recover from the store, most simply by starting
  // anew. A leader that writes nothing asks now and then whether it still leads, so that one that
  // was overtaken does not go on for ever.
  Result<Done, StoreError> take_turn(Instant until);

  // When to take the next turn even if nothing is heard.
  Instant next_wake() const { return std::min(controller_.next_wake(), confirm_at_); }

  const Controller& controller() const { return controller_; }
  std::vector<std::string> take_notices() { return controller_.take_notices(); }

  // For tests, between two turns. Specs stay: reading one again is a question to the store.
  void drop_caches() { controller_.drop_caches(); }

 private:
  Result<Lookups, StoreError> look_up();
  Result<Done, StoreError> draw_ids(std::size_t count, std::vector<JobId>& ids);
  Result<Done, StoreError> write();
  Result<Done, StoreError> confirm_leadership();
  Result<const JobSpec*, StoreError> spec_of(const Duty& duty);
  Result<Done, StoreError> speak();

  const Policy policy_;
  const Ports ports_;
  const Epoch epoch_;
  Controller controller_;
  Instant confirm_at_{};             // that nobody else leads by then
  std::vector<Input> heard_;         // taken from the queue, not decided on yet
  std::optional<Turn> decided_;      // decided, not durable yet
  std::map<Digest, JobSpec> specs_;  // of duties lately sent; a cache, bounded
};

}  // namespace keel
