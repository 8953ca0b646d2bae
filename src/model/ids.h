// Who is who. Every id is a type of its own; text forms are for people and for the wire.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/strong.h"

namespace keel {

using JobId = Strong<struct JobTag>;                         // 0 is "none"
using AttemptNo = Strong<struct AttemptTag, std::uint32_t>;  // 1 is the first; 0 is "none yet"
using FencingToken = Strong<struct TokenTag>;                // grows with every grant, fleet-wide
using Epoch = Strong<struct EpochTag>;                       // the leader's; grows for ever
using Seq = Strong<struct SeqTag>;            // position in the event log: 1, 2, 3, …
using SessionNo = Strong<struct SessionTag>;  // one connection of one agent
using ReportNo = Strong<struct ReportTag>;    // one report within a session
using Ticket = Strong<struct TicketTag>;      // one caller waiting for an answer

// A GPU host's name, matched exactly.
struct NodeId {
  std::string name{};
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// A device's uuid as its driver gives it: its only identity.
struct DeviceId {
  std::string uuid{};
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

// SHA-256 of some bytes: the name of content-addressed specs and files.
struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

// One task of one attempt: what an agent prepares, starts and stops.
struct TaskKey {
  JobId job;
  AttemptNo attempt{};
  std::uint32_t task{};  // its rank in the gang: 0, 1, …
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

// 13 characters of Crockford's base 32 in lower case, most significant first: ids made later sort
// later as text too. parse accepts exactly what print makes.
std::string print(JobId id);
std::optional<JobId> parse_job_id(std::string_view text);

// 64 lower-case hexadecimal digits.
std::string print(const Digest& digest);
std::optional<Digest> parse_digest(std::string_view text);

// "JOB.ATTEMPT.TASK", for logs and folder names. Never holds text that a user chose.
std::string print(const TaskKey& key);
std::optional<TaskKey> parse_task_key(std::string_view text);

}  // namespace keel
