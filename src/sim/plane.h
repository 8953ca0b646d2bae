// A control plane as a process that can be killed and paused at any step: the shipped leader, with
// ports into the simulated world.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "control/turn.h"
#include "ports/server.h"
#include "sim/agenda.h"
#include "sim/model_store.h"
#include "sim/network.h"

namespace keel::sim {

class World;

class Plane final : public Inputs, public Callers, public Agents, public Ids, public Store {
 public:
  Plane(World& world, int number);

  // Begins to lead: recovers from the store, which fences whoever led before.
  void begin();
  void kill();
  void pause(Duration span);
  void go_on();

  bool is_leading() const { return leader_ != nullptr; }
  std::uint64_t term() const { return term_; }  // counts beginnings in the world
  const std::string& name() const { return name_; }
  const Controller& controller() const { return leader_->controller(); }

  // What arrives from hosts. A plane that does not lead hangs up.
  void hello(const std::shared_ptr<Connection>& connection, const NodeInventory& inventory,
             FencingToken newest);
  void report(const std::shared_ptr<Connection>& connection, const Report& report);
  void disconnected(const Connection& connection);

  // What arrives from people; the answer goes to `answered` unless this process dies first.
  using Answered = std::function<void(const AnswerKind&)>;
  void ask(const std::function<Input(Ticket)>& make, Answered answered);

 private:
  // Inputs, Callers, Agents, Ids: the leader's.
  std::vector<Input> take(std::size_t max, Instant until) override;
  void answer(Answer answer) override;
  void committed(Seq, const std::vector<JobId>&) override {}
  void welcome(const NodeId& node, SessionNo session, const Welcome& welcome) override;
  void refuse(SessionNo session, const std::string& why) override;
  void acknowledge(const NodeId& node, SessionNo session, ReportNo report) override;
  void send(SessionNo session, Epoch epoch, ReportNo answers, const Duty& duty,
            const JobSpec* spec) override;
  JobId next_job(Instant now) override;

  // Store: the shared rows, and what can go wrong on the way to them.
  Result<Restored, StoreError> mark_restored(Instant wall) override {
    return store_.mark_restored(wall);
  }
  Result<Epoch, StoreError> take_over() override { return store_.take_over(); }
  Result<Done, StoreError> confirm(Epoch epoch) override { return store_.confirm(epoch); }
  Result<Loaded, StoreError> load() override { return store_.load(); }
  Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) override;
  Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) override;
  Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) override;
  Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) override;

  void take_turns();
  void wake(Instant when);
  void speak(SessionNo session, ServerMessage message);
  std::optional<StoreError> trouble();
  void tell(const Batch& batch);
  void hang_up_all();

  World& world_;
  const std::string name_;
  Random chance_;
  ModelStore store_;
  std::unique_ptr<DriftingClock> clock_;
  std::unique_ptr<Leader> leader_;
  std::deque<Input> queue_;
  std::map<Ticket, Answered> asking_;
  std::map<SessionNo, std::shared_ptr<Connection>> sessions_;
  std::map<NodeId, SessionNo> session_of_;
  std::map<NodeId, std::string> agent_of_;  // of the session
  SessionNo last_session_;
  Ticket last_ticket_;
  std::uint64_t term_{};
  std::uint64_t life_{};  // tells this process's plans from those of a dead one
  Instant paused_until_{};
  Instant wake_at_ = never;
};

}  // namespace keel::sim
