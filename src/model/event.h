// Stored facts. State is their fold (core/lifecycle.h, core/state.h); nothing else changes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/reason.h"

namespace keel {

struct Submitted {
  Owner owner{};
  std::string key{};
  Digest said{};
  Digest spec{};
  Shape shape{};
  Duration time_limit{};
  Duration grace{};
  std::uint32_t retries{};
  std::optional<Duration> start_deadline{};
  friend bool operator==(const Submitted&, const Submitted&) = default;
};
struct Admitted {
  friend bool operator==(Admitted, Admitted) = default;
};
struct Rejected {
  Reason reason{};
  friend bool operator==(Rejected, Rejected) = default;
};
struct Expired {
  friend bool operator==(Expired, Expired) = default;
};

// Where one task goes.
struct Slot {
  NodeId node;
  std::vector<DeviceId> devices{};
  friend bool operator==(const Slot&, const Slot&) = default;
};
struct Reserved {
  FencingToken token;
  Instant claim_by{};
  std::uint16_t port{};       // for the rendezvous, unique among the live attempts of task 0's node
  std::vector<Slot> slots{};  // one per task, in rank order
  friend bool operator==(const Reserved&, const Reserved&) = default;
};
struct Voided {  // the reservation ended before anything was started
  FencingToken token;
  Reason reason{};
  Instant not_before{};
  std::uint32_t refused{};  // the task, where `text` says why
  std::string text{};       // for people, at most 256 bytes
  friend bool operator==(const Voided&, const Voided&) = default;
};
struct TaskPrepared {
  FencingToken token;
  std::uint32_t task{};
  friend bool operator==(TaskPrepared, TaskPrepared) = default;
};
struct Launched {  // every task is prepared: from here on agents are told START
  FencingToken token;
  friend bool operator==(Launched, Launched) = default;
};
struct TaskStarted {
  FencingToken token;
  std::uint32_t task{};
  friend bool operator==(TaskStarted, TaskStarted) = default;
};
struct Started {  // every task runs
  FencingToken token;
  friend bool operator==(Started, Started) = default;
};
struct TaskEnded {
  FencingToken token;
  std::uint32_t task{};
  Exit exit{};
  friend bool operator==(const TaskEnded&, const TaskEnded&) = default;
};
struct Ended {  // every task has ended
  FencingToken token;
  friend bool operator==(Ended, Ended) = default;
};
struct TaskSettled {
  FencingToken token;
  std::uint32_t task{};
  friend bool operator==(TaskSettled, TaskSettled) = default;
};
struct Succeeded {
  friend bool operator==(Succeeded, Succeeded) = default;
};
struct Failed {
  Reason reason{};
  friend bool operator==(Failed, Failed) = default;
};
struct Requeued {
  Reason reason{};
  Instant not_before{};
  friend bool operator==(Requeued, Requeued) = default;
};
struct Preempted {  // the decision to stop it for another
  FencingToken token;
  friend bool operator==(Preempted, Preempted) = default;
};
struct Silenced {  // a node it runs on cannot be heard
  friend bool operator==(Silenced, Silenced) = default;
};
struct Heard {  // all of its nodes are heard again
  friend bool operator==(Heard, Heard) = default;
};
struct LateSucceeded {  // the last attempt proves to have succeeded after the job was put back
  FencingToken token;
  friend bool operator==(LateSucceeded, LateSucceeded) = default;
};
struct Canceled {
  friend bool operator==(Canceled, Canceled) = default;
};

// Stored by field number (proto/keel/v1/event.proto). The order here is that of the columns of
// docs/job-states.md.
using JobEvent =
    std::variant<Submitted, Admitted, Rejected, Expired, Reserved, Voided, TaskPrepared, Launched,
                 TaskStarted, Started, TaskEnded, Ended, TaskSettled, Succeeded, Failed, Requeued,
                 Preempted, Silenced, Heard, LateSucceeded, Canceled>;

// The event's name as docs/job-states.md and the API write it: "TaskPrepared".
std::string_view name_of(const JobEvent& event);

struct NodeReported {  // a node is new, or its inventory changed
  NodeInventory inventory{};
  friend bool operator==(const NodeReported&, const NodeReported&) = default;
};
struct NodeSilenced {
  friend bool operator==(NodeSilenced, NodeSilenced) = default;
};
struct NodeHeard {
  friend bool operator==(NodeHeard, NodeHeard) = default;
};
struct ForeignSeen {  // all foreign tasks of the node; none: they are over
  std::vector<ForeignTask> tasks{};
  friend bool operator==(const ForeignSeen&, const ForeignSeen&) = default;
};
using NodeEvent = std::variant<NodeReported, NodeSilenced, NodeHeard, ForeignSeen>;

struct JobFact {
  JobId job;
  JobEvent event{};
  friend bool operator==(const JobFact&, const JobFact&) = default;
};
struct NodeFact {
  NodeId node;
  NodeEvent event{};
  friend bool operator==(const NodeFact&, const NodeFact&) = default;
};
using Fact = std::variant<JobFact, NodeFact>;

struct StoredEvent {
  Seq seq{};     // without gaps
  Instant at{};  // decided by the control plane, never by the database; never goes back
  Fact fact{};
  friend bool operator==(const StoredEvent&, const StoredEvent&) = default;
};

}  // namespace keel
