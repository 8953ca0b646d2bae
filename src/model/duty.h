// What an agent is asked to do for one task. Derived from state alone (core/launch.h), hence safe
// to repeat: the agent compares tokens and obeys each once.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/ids.h"
#include "model/job.h"
#include "model/units.h"

namespace keel {

struct Prepare {
  std::vector<DeviceId> devices{};
  Owner owner{};
  Digest spec{};
  Duration claim_for{};   // from the sending of the report that this answers
  std::uint32_t tasks{};  // of the gang
  std::string master_address{};
  std::uint16_t master_port{};
  friend bool operator==(const Prepare&, const Prepare&) = default;
};
struct Start {
  friend bool operator==(Start, Start) = default;
};
struct Stop {  // running: notice, grace, kill. Not started: give the claim back.
  StopCause cause{};
  friend bool operator==(Stop, Stop) = default;
};
struct Commit {  // put the outputs where they belong
  friend bool operator==(Commit, Commit) = default;
};
struct Release {  // forget the task; never obeyed while a process of it lives
  friend bool operator==(Release, Release) = default;
};
using DutyKind = std::variant<Prepare, Start, Stop, Commit, Release>;

struct Duty {
  NodeId node;
  TaskKey key;
  FencingToken token;
  DutyKind kind{};
  friend bool operator==(const Duty&, const Duty&) = default;
};

}  // namespace keel
