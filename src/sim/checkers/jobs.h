// Jobs: the log, folded once more beside the store, and what it must never say.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/state.h"
#include "model/ids.h"
#include "ports/store.h"
#include "sim/model_store.h"

namespace keel::sim {

// I3: what is written carries the newest epoch.
// I6: a job comes with its event, its row, its spec and its key, or not at all.
// I8: a terminal state is entered once and never left, by one event.
// I9: only declared transitions occur, and a job succeeds only if its programs did.
// I10: START is committed for a whole gang or not at all.
// B-E17: no reservation outlives its claim_by, but in a store that was just put back.
// B-G9: a job fails of its own accord as often as it may, and once more.
// I24: what a restart reads is what the events say, and what the leader had in memory.
class JobChecker {
 public:
  void appended(Epoch epoch, const Batch& batch, const ModelRows& rows);
  void took_over(Epoch epoch) { epoch_ = epoch; }
  // Then an attempt may have been refused before, by an agent that died before it could say so.
  void disks_fill() { disks_fill_ = true; }
  // The store is put back to what this one had seen. What happened in truth has happened.
  void put_back(const JobChecker& then, FencingToken last_of_copy);
  void recovered(const State& state, const ModelRows& rows) const;
  // In truth, whatever anybody says of it later.
  void program_ended(const TaskKey& key, const Exit& exit);

  bool all_over() const;
  // The first job that is not, for a message.
  std::string unfinished() const;

  const std::map<std::string, std::uint64_t>& transitions() const { return transitions_; }

 private:
  void fold(const JobFact& fact, Instant at);
  void look_before(const Job& job, const JobEvent& event, const std::string& what);
  void look_at_reservations(Instant at, const ModelRows& rows) const;

  std::map<JobId, Job> jobs_;
  bool disks_fill_{};
  std::set<JobId> over_;
  std::set<JobId> reserved_;
  std::set<TaskKey> ended_well_;
  std::map<JobId, std::uint32_t> failures_;  // for which a job was queued again
  std::map<NodeId, Node> nodes_;
  std::map<std::string, std::uint64_t> transitions_;  // "running finishing", how often
  FencingToken last_of_copy_;  // reservations of a copy that was put back may be over in truth
  Epoch epoch_;
  Seq seq_;
};

}  // namespace keel::sim
