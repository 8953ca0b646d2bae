// Jobs from their submission to their success, as the batches in which a leader would store them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/state.h"
#include "model/policy.h"
#include "ports/inputs.h"
#include "ports/store.h"

namespace keel::bench {

enum class Specs : std::uint8_t {
  equal,      // everybody submits the same
  different,  // no two submissions are alike
};

// The n-th submission of a typical job: a name, five arguments, two variables, one GPU, a key.
SubmitInput submission(std::uint64_t n, Specs specs);

// Plays lives into a store that nobody else writes to.
class Lives {
 public:
  // A fleet of `jobs_at_once` GPUs, stored as one node.
  Lives(Store& store, Epoch epoch, Specs specs, std::uint32_t jobs_at_once);

  // Lets `jobs` more jobs live, `jobs_at_once` of them together. Gives the store's first refusal.
  Result<Done, StoreError> play(std::uint64_t jobs);

  // Lets `jobs_at_once` more jobs live that are reserved in vain at first: every other one is
  // canceled then; of the rest the reservation ends with its time, and they are reserved anew, the
  // first of them on a device that another had.
  Result<Done, StoreError> play_in_vain();

  // Plays on in a store that was opened anew.
  void go_on_in(Store& store) { store_ = &store; }

 private:
  using Ids = std::vector<JobId>;
  void record(const JobId& job, JobEvent event);
  void take_due_steps(const JobId& job);
  Ids submit(std::uint32_t count);
  void reserve(const Ids& jobs);
  Result<Done, StoreError> run(Ids jobs);
  Result<Done, StoreError> store(const Ids& changed);

  Store* store_;
  const Epoch epoch_;
  const Specs specs_;
  const Policy policy_{};
  State state_;
  Instant now_{};
  std::uint64_t submitted_ = 0;
  Seq after_{};
  Batch batch_;
  std::vector<DeviceId> devices_;
  std::mt19937_64 random_{20'250'101};  // ids and the order in which jobs come on
};

}  // namespace keel::bench
