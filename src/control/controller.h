// The control plane as a deterministic state machine: inputs and the time in; events to store,
// answers and duties out. No I/O, no clock, no thread. control/turn.h drives it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/cycle.h"
#include "core/state.h"
#include "core/submit.h"
#include "model/policy.h"
#include "ports/inputs.h"
#include "ports/store.h"

namespace keel {

// What the driver has read from the store for the inputs of one turn.
struct Lookups {
  std::map<SubmitKey, Earlier> keys{};
  std::map<JobId, Job> jobs{};     // those named by inputs that the controller does not hold
  std::vector<JobId> fresh_ids{};  // one for each submission, all free
};

// What goes to agents once the turn is durable, in order.
struct ToAgent {
  NodeId node;
  SessionNo session{};
  struct Ack {
    ReportNo report{};
  };
  struct Ask {
    ReportNo answers{};
    Duty duty;
  };
  struct Refuse {
    std::string why{};
  };
  std::variant<Agents::Welcome, Ack, Ask, Refuse> message;
};

// The outcome of one turn. Nothing of it may leave the process before `batch` is durable.
struct Turn {
  Seq after{};  // the log position it was decided on
  Batch batch{};
  std::vector<Answer> answers{};
  std::vector<ToAgent> to_agents{};
};

class Controller {
 public:
  // A leader of `epoch` that begins where `loaded` ends. Every node is taken to have been heard at
  // `now`: the control plane's own absence is nobody's fault.
  Controller(const Policy& policy, Epoch epoch, const Loaded& loaded, Instant now);

  // One turn: hears `inputs`, lets time pass to `now`, decides. The state is as if the turn were
  // already durable; where it cannot be made so, this controller must be dropped.
  Turn decide(Instant now, std::vector<Input> inputs, const Lookups& lookups);

  // When to take the next turn even if nothing is heard; at once where a pass is unfinished.
  Instant next_wake() const;

  const State& state() const { return state_; }

  // Between two turns: makes everything anew that is only kept to be quick. No decision may depend
  // on it.
  void drop_caches();

  // Things that nobody could honestly have said, since the start. For an operator's alarm.
  std::uint64_t alarms() const { return alarms_; }

  // What an operator should read and has not been given yet.
  std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

 private:
  struct Session {
    SessionNo number{};
    ReportNo last_report{};
    bool heard_in_full{};
  };

  void hear(const SubmitInput& input, const Lookups& lookups);
  void hear(const CancelInput& input, const Lookups& lookups);
  void hear(const ReasonsInput& input, const Lookups& lookups);
  void hear(const AgentConnected& input, const Lookups& lookups);
  void hear(const AgentReported& input, const Lookups& lookups);
  void hear(const AgentGone& input, const Lookups& lookups);

  void note_devices(const NodeInventory& inventory);
  std::optional<std::string> claimed_elsewhere(const NodeInventory& inventory) const;
  void refuse(const NodeId& node, SessionNo session, std::string why);
  bool has_tasks(const NodeId& node) const;
  bool holds_tasks_of_another(const NodeInventory& inventory) const;
  void note_absence(Instant now);
  void hear_in_full(const AgentReported& input, Session& session);
  void resume_jobs_on(const NodeId& node);
  void notice_silence();
  void silence_jobs_on(const NodeId& node);
  void lose(const NodeId& node);
  void settle();
  void schedule();
  void reserve(const Decision& decision);
  void ask_for_duties();

  // Makes a fact part of the turn; false where the state refuses it.
  bool record(JobId job, JobEvent event);
  void record(const NodeId& node, NodeEvent event);
  void take_due_steps(JobId job);
  bool is_heard(const Job& job) const;
  void update_placeable(const NodeId& node);
  void send(const Duty& duty);
  void answer(Ticket ticket, AnswerKind kind);
  void finish_turn();

  const Policy policy_;
  const Epoch epoch_;
  State state_;
  std::map<NodeId, Session> sessions_;
  std::map<NodeId, Instant> last_heard_;
  std::set<NodeId> ahead_;  // they have seen tokens that this store had never given
  std::map<DeviceId, NodeId> device_places_;
  Placeable placeable_;
  Cursor cursor_;
  bool pass_unfinished_{};
  Instant next_silence_check_{};
  Instant next_duty_round_{};
  std::optional<JobId> duty_cursor_;
  std::uint64_t alarms_{};
  std::vector<std::string> notices_;
  // The store was put back: until then what was begun after the copy may run, and not be heard.
  std::optional<Instant> settles_at_;

  // Of the turn under way.
  Instant now_{};
  Turn turn_;
  std::size_t fresh_ids_used_{};
  std::map<SubmitKey, Earlier> keys_of_turn_;
  std::set<JobId> changed_;
  std::set<JobId> ask_;  // jobs whose agents have something new to do
  std::set<NodeId> changed_nodes_;
  std::set<std::tuple<TaskKey, FencingToken, std::size_t>> sent_;  // duties, each once a turn
};

}  // namespace keel
