// What the control plane knows, as a fold over stored events, with the indexes that its decisions
// read. Every index is kept up event by event; none is ever built by looking at all jobs.
//
// Terminal jobs leave memory once nothing of them is left on any node; the store keeps them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/lifecycle.h"
#include "model/event.h"
#include "model/holding.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/units.h"

namespace keel {

// A place in the line of waiting jobs: first come, first served.
struct Place {
  Instant submitted;
  JobId job;
  friend auto operator<=>(Place, Place) = default;
};

// What is taken of one node.
struct NodeUse {
  Millicores cpu{};
  Bytes memory{};
  std::map<DeviceId, TaskKey> devices{};
  std::set<std::uint16_t> ports{};  // of the attempts whose task 0 is here
};

class State {
 public:
  // Adds what recovery read. Only before the first event.
  void restore(Job job);
  void restore(Node node);
  void restore(Seq seq, Instant at, FencingToken last_token, std::vector<LostTokens> lost = {});

  // The same state with every index made anew from the jobs and nodes: what a test compares.
  State rebuilt() const;

  // Folds one event in, or leaves the state untouched and says why. `event` is made at `at`, which
  // never goes back. A Submitted needs an id that is not taken.
  Result<Done, TransitionError> apply(Instant at, const JobFact& fact);
  void apply(Instant at, const NodeFact& fact);

  // What has changed in the holding of devices since the last call, in order.
  std::vector<HoldingChange> take_holding_changes();

  // Forgets `job` where nothing more is to be done for it. Idempotent.
  void forget_if_over(JobId job);

  const Job* find(JobId id) const;
  const Node* find(const NodeId& id) const;
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  const std::map<NodeId, Node>& nodes() const { return nodes_; }

  // Queued jobs in their order.
  const std::set<Place>& line() const { return line_; }

  // Never null for a node that was reported.
  const NodeUse& use_of(const NodeId& node) const;

  // Jobs with tasks on this node that are not settled, and how many.
  const std::map<JobId, std::uint32_t>& jobs_on(const NodeId& node) const;

  // The next moment at which a job may need a decision without anybody speaking; `never` if none.
  Instant next_wake() const;
  // Jobs whose moment has come; each is given once.
  std::vector<JobId> take_woken(Instant now);

  // Grows whenever something changed that could let a queued job start: the scheduler looks again.
  std::uint64_t schedule_version() const { return schedule_version_; }

  Seq seq() const { return seq_; }
  Instant at() const { return at_; }
  FencingToken last_token() const { return last_token_; }

  // False for tokens that this store never gave, or whose reservations it has forgotten.
  bool was_given(FencingToken token) const;

  // Whether a foreign task of this job runs somewhere: no attempt of ours may run beside it.
  bool runs_unknown(JobId job) const { return foreign_jobs_.contains(job); }

 private:
  // The tasks of a job that one event may change: [first, last).
  struct Span {
    std::uint32_t first{};
    std::uint32_t last{};
  };
  // What the indexes hold of a job before an event.
  struct Before {
    bool queued{};
    Instant wake{};
    std::vector<bool> open{};  // of each task of the span: not settled
    std::vector<bool> held{};  // likewise: holds devices
  };
  using Wake = std::pair<Instant, JobId>;
  static Before look(const Job& job, Span span);
  void reindex(const Job& job, const Before& before, Span span);
  void reindex(const Job& job, std::uint32_t rank, bool held_before, bool open_before);
  void move_devices(const Job& job, std::uint32_t rank, bool taken);
  void drop_wake(Wake wake, Instant now);
  void log_one(Instant at);
  void move_foreign(const Node& node, bool seen);

  std::map<JobId, Job> jobs_;
  std::map<NodeId, Node> nodes_;
  std::map<NodeId, NodeUse> uses_;
  std::map<NodeId, std::map<JobId, std::uint32_t>> jobs_on_;
  std::set<Place> line_;
  std::set<Wake> wakes_;
  Instant woken_{};  // until when wakes were given
  std::vector<HoldingChange> holding_changes_;
  std::uint64_t schedule_version_{};
  Seq seq_{};
  Instant at_{};
  FencingToken last_token_{};
  std::vector<LostTokens> lost_;
  std::map<JobId, std::uint32_t> foreign_jobs_;  // how many foreign tasks of each
};

// When `job` may need a decision without anybody speaking; `never` where it waits for others only.
Instant wake_at(const Job& job);

}  // namespace keel
