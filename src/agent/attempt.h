// The agent's mind, pure: which claims this host has made, what is to be done about each duty, and
// what to tell the control plane. Values in, values out; agent/runner.h carries them out.
//
// A claim on its way (every step is on the agent's disk before it has an effect):
//
//   PREPARE ─▶ preparing ─▶ prepared ─▶ START ─▶ running ─▶ ended ─▶ COMMIT ─▶ settled ─▶ RELEASE
//                  │            │                            ▲
//                  └─ refused ◀─┴─ deadline                  └─ STOP: notice, grace, kill
//                     (a STOP before START: ended, not started)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/duty.h"
#include "model/node.h"
#include "model/report.h"
#include "ports/claims.h"
#include "ports/runtime.h"
#include "ports/server.h"

namespace keel {

// What the runner is to do, in this order. Where a write fails, nothing after it is done, and
// AgentCore::unkept() says what remains.
struct WriteClaim {
  Claim claim;
};
struct WriteFloors {};  // of AgentCore::floors()
struct EraseClaim {
  TaskKey key;
};
struct BeginPrepare {  // slow: its outcome is told by AgentCore::prepared()
  PrepareOrder order;
};
struct StartTask {
  TaskKey key;
  Instant lease{};
};
struct StopTask {
  TaskKey key;
  StopCause cause{};
};
struct CommitTask {  // its outcome is told by AgentCore::committed()
  TaskKey key;
};
struct ReleaseTask {
  TaskKey key;
};
struct ExtendLease {
  TaskKey key;
  Instant lease{};
};
using AgentAction = std::variant<WriteClaim, WriteFloors, EraseClaim, BeginPrepare, StartTask,
                                 StopTask, CommitTask, ReleaseTask, ExtendLease>;

// Whether its devices may be in use, now or soon.
bool is_live(const Claim& claim);

class AgentCore {
 public:
  // All instants are in boot time.
  AgentCore(NodeInventory inventory, Claims::Kept kept);

  // A new connection: reports are numbered from 1 again.
  void connected();
  void disconnected();
  std::vector<AgentAction> welcomed(const AgentTerms& terms, Instant now);

  // The control plane has heard report `number`.
  std::vector<AgentAction> acknowledged(ReportNo number, Instant now);

  // A duty, which answers report `answers`. Saying it twice changes nothing.
  std::vector<AgentAction> told(const Duty& duty, ReportNo answers, const JobSpec* spec,
                                Instant now);

  // What a successor of a dead agent has to begin with.
  std::vector<AgentAction> resumed();

  // The disk did not keep the first of these actions, a write. What needs no promise is to be done
  // all the same; the rest is asked for again, by the control plane or by tick().
  std::vector<AgentAction> unkept(std::span<const AgentAction> undone, const std::string& why);

  std::vector<AgentAction> prepared(const TaskKey& key, const Result<Done, RuntimeError>& outcome);
  std::vector<AgentAction> committed(const TaskKey& key, const Result<Done, RuntimeError>& outcome);

  // Whose processes may be here by our own records: what the runtime is to look for.
  std::vector<StartedTask> started() const;

  // How the tasks of this host are now: all of them.
  std::vector<AgentAction> observed(const std::vector<Observed>& tasks);

  // Lets time pass: claims whose deadline is over are given up, what the disk did not keep is
  // written again.
  std::vector<AgentAction> tick(Instant now);

  void inventory_changed(NodeInventory inventory);

  // The report that is due, if the connection stands. Its sending time is `now`.
  std::optional<Report> report_due(Instant now);

  // When tick or report_due should be asked again.
  Instant next_wake() const;

  const std::map<DeviceId, FencingToken>& floors() const { return floors_; }
  FencingToken newest_token() const;  // of those, and of all claims
  const std::map<TaskKey, Claim>& claims() const { return claims_; }
  const NodeInventory& inventory() const { return inventory_; }

 private:
  using Actions = std::vector<AgentAction>;

  void prepare(const Duty& duty, const Prepare& order, Instant until, const JobSpec& spec,
               Instant now, Actions& actions);
  bool was_released_since(const TaskKey& key, ReportNo report) const;
  std::optional<std::string> held_by_another(const Duty& duty, const Prepare& order) const;
  void start(Claim& claim, Instant now, Actions& actions);
  void stop(Claim& claim, StopCause cause, Actions& actions);
  void release(Claim& claim, Actions& actions);
  void refuse(Claim& claim, Reason reason, std::string text, Actions& actions);
  void end(Claim& claim, const Exit& exit, Actions& actions);
  void observe(Claim& claim, const Observed* task, Actions& actions);
  void observe_strays(const std::vector<Observed>& tasks, Actions& actions);
  bool is_owing() const { return floors_unwritten_ || !unwritten_.empty(); }
  void give_up(Claim& claim, const std::string& why);
  void write_unwritten(Instant now, Actions& actions);
  void extend_leases(Actions& actions);
  std::optional<Instant> sent_at(ReportNo number) const;
  void keep(const Claim& claim, Actions& actions);   // what no report tells
  void write(const Claim& claim, Actions& actions);  // and report it
  void begin(const Claim& claim, Actions& actions);
  void let_go(const TaskKey& key, Actions& actions);

  NodeInventory inventory_;
  std::map<TaskKey, Claim> claims_;
  std::set<TaskKey> in_flight_;  // being prepared aside just now
  std::set<TaskKey> strays_;     // may run here, though no claim says so
  std::map<DeviceId, FencingToken> floors_;
  std::set<TaskKey> unwritten_;  // claims that are not on disk as they are here
  bool floors_unwritten_{};
  Instant last_try_{};               // to write those
  std::optional<AgentTerms> terms_;  // while connected and welcomed
  bool accepted_{};                  // the control plane has taken this agent for the node's
  Duration disconnect_stop_{};
  std::map<ReportNo, Instant> sent_;      // of this connection
  std::map<TaskKey, ReportNo> released_;  // what was the last report then
  ReportNo last_report_{};
  Instant last_sent_{};
  Instant last_full_{};
  bool report_changed_{true};
  Instant lease_{};          // until when tasks may run, as far as the control plane was heard
  Instant lease_written_{};  // what the shims were last told
};

}  // namespace keel
