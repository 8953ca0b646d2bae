// Model <-> protobuf, one pair for each message that is stored or sent. to_pb cannot fail; from_pb
// refuses unknown numbers, bad ids and values out of range, naming the field.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "keel/v1/agents.pb.h"
#include "keel/v1/event.pb.h"
#include "keel/v1/job.pb.h"
#include "keel/v1/node.pb.h"
#include "keel/v1/spec.pb.h"
#include "model/duty.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/report.h"
#include "model/spec.h"
#include "wire/bad_bytes.h"

namespace keel {

namespace pb = ::keel::v1;

pb::JobState to_pb(JobState state);
Result<JobState, BadBytes> from_pb(pb::JobState state);
pb::StopCause to_pb(StopCause cause);
Result<StopCause, BadBytes> from_pb(pb::StopCause cause);

pb::TaskPhase to_pb(TaskPhase phase);
Result<TaskPhase, BadBytes> from_pb(pb::TaskPhase phase);

// The inverse of print(Reason). In messages an empty word stands for Reason::none.
std::optional<Reason> parse_reason(std::string_view word);

// Text for people is made UTF-8 and cut to its limit on the way out, and refused when longer on the
// way in.
pb::Exit to_pb(const Exit& exit);
Result<Exit, BadBytes> from_pb(const pb::Exit& exit);
pb::Owner to_pb(const Owner& owner);
Owner from_pb(const pb::Owner& owner);
pb::Job to_pb(const Job& job);
Result<Job, BadBytes> from_pb(const pb::Job& job);
pb::NodeInventory to_pb(const NodeInventory& inventory);
Result<NodeInventory, BadBytes> from_pb(const pb::NodeInventory& inventory);
pb::Node to_pb(const Node& node);
Result<Node, BadBytes> from_pb(const pb::Node& node);
pb::Event to_pb(const StoredEvent& event);
Result<StoredEvent, BadBytes> from_pb(const pb::Event& event);
pb::Report to_pb(const Report& report);
Result<Report, BadBytes> from_pb(const pb::Report& report);

// A normalised spec, every field present; the inverse refuses one with a field missing.
pb::JobSpec to_pb(const JobSpec& spec);
Result<JobSpec, BadBytes> normalised_from_pb(const pb::JobSpec& spec);

// A duty as it is sent: `spec` is required for a Prepare, and ignored else.
pb::ServerMessage to_pb(const Duty& duty, Epoch epoch, ReportNo answers, const JobSpec* spec);

// A duty as it arrives. `node` is the receiver's own.
struct ReceivedDuty {
  Duty duty;
  Epoch epoch;
  ReportNo answers;
  std::optional<JobSpec> spec;  // of a Prepare
};
Result<ReceivedDuty, BadBytes> duty_from_pb(const pb::ServerMessage& message, const NodeId& node);

}  // namespace keel
