// All that the control plane hears, as values in one bounded queue that a turn empties; and what it
// says back to callers and agents. Threads live on the far side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/duty.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/report.h"
#include "model/spec.h"

namespace keel {

// A person's submission, parsed and checked. Digests are those of the canonical forms.
struct SubmitInput {
  Ticket ticket;
  Owner owner{};
  std::string key{};  // empty: none
  Digest said{};
  Digest spec_digest{};
  JobSpec spec{};
};
struct CancelInput {
  Ticket ticket;
  JobId job;
};
// Why do these jobs wait? Answered from state, never stored.
struct ReasonsInput {
  Ticket ticket;
  std::vector<JobId> jobs{};
};
struct AgentConnected {
  NodeId node;
  SessionNo session;  // higher than that of every earlier connection of this process
  NodeInventory inventory{};
  FencingToken newest_token{};  // the highest that was ever seen there
};
struct AgentReported {
  NodeId node;
  SessionNo session;
  Report report{};
};
struct AgentGone {
  NodeId node;
  SessionNo session;
};
using Input =
    std::variant<SubmitInput, CancelInput, ReasonsInput, AgentConnected, AgentReported, AgentGone>;

struct SubmitAnswer {
  JobId job;
  bool existing{};
};
struct KeyConflict {  // the key had made another job
  JobId first;
};
struct CancelAnswer {
  JobId job;
  JobState state{};  // canceled, or the terminal state that it had already
};
struct NoSuchJob {
  JobId job;
};
struct ReasonsAnswer {
  std::vector<std::pair<JobId, Reason>> reasons{};  // of those that wait, in ascending order of id
};
struct NotStored {  // the store is out of reach: what was asked may or may not have been done
  std::string detail{};
};
using AnswerKind =
    std::variant<SubmitAnswer, KeyConflict, CancelAnswer, NoSuchJob, ReasonsAnswer, NotStored>;
struct Answer {
  Ticket ticket;
  AnswerKind kind{};
};

class Inputs {
 public:
  virtual ~Inputs() = default;

  // The oldest inputs, at most `max`. Waits for one until `until` by the turn's clock.
  virtual std::vector<Input> take(std::size_t max, Instant until) = 0;
};

class Callers {
 public:
  virtual ~Callers() = default;
  virtual void answer(Answer answer) = 0;  // never blocks

  // The log is durable up to `seq`; jobs that changed since the last call. Never blocks.
  virtual void committed(Seq seq, const std::vector<JobId>& changed) = 0;
};

// To agents. Messages to a node that is not connected are dropped: duties are asked for again.
class Agents {
 public:
  virtual ~Agents() = default;

  struct Floor {
    DeviceId device;
    FencingToken token;
  };
  struct Welcome {
    Epoch epoch{};
    std::vector<Floor> floors{};
    Duration disconnect_stop{};
    Duration heartbeat{};
  };
  virtual void welcome(const NodeId& node, SessionNo session, const Welcome& welcome) = 0;
  virtual void refuse(SessionNo session, const std::string& why) = 0;  // ends the session
  virtual void acknowledge(const NodeId& node, SessionNo session, ReportNo report) = 0;

  // `answers` is the last report heard of this node in this session; `spec` is the duty's, where it
  // is a Prepare.
  virtual void send(SessionNo session, Epoch epoch, ReportNo answers, const Duty& duty,
                    const JobSpec* spec) = 0;
};

}  // namespace keel
