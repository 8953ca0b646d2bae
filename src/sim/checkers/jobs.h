// Jobs: the log, folded once more beside the store, and what it must never say.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state.h"
#include "model/ids.h"
#include "ports/store.h"
#include "sim/model_store.h"

namespace keel::sim {

// I3: what is written carries the newest epoch.
// I6: a job comes with its event, its row, its spec and its key, or not at all.
// I8: a terminal state is entered once and never left.
// I9: only declared transitions occur.
// I24: what a restart reads is what the events say, and what the leader had in memory.
class JobChecker {
 public:
  void appended(Epoch epoch, const Batch& batch, const ModelRows& rows);
  void recovered(const State& state, const ModelRows& rows) const;

  bool all_over() const;
  // The first job that is not, for a message.
  std::string unfinished() const;

  const std::map<std::string, std::uint64_t>& transitions() const { return transitions_; }

 private:
  void fold(const JobFact& fact, Instant at);

  std::map<JobId, Job> jobs_;
  std::map<NodeId, Node> nodes_;
  std::map<std::string, std::uint64_t> transitions_;  // "running finishing", how often
  Epoch epoch_;
  Seq seq_;
};

}  // namespace keel::sim
