// A GPU host: its disk, its agent (the shipped runner, as a process that can die at each write),
// the shims of its tasks (the shipped decisions) and their processes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/runner.h"
#include "agent/shim.h"
#include "base/random.h"
#include "sim/agenda.h"
#include "sim/network.h"

namespace keel::sim {

class World;

// What outlives the agent, and a restart of the host.
struct Disk {
  // What agent and shim say to each other of one task.
  struct Records {
    std::uint64_t boot{};  // of the shim that was started; 0: none was
    std::optional<Exit> exit{};
    std::optional<StopCause> stop{};
    Instant lease{};
    Duration time_limit{};
    Duration grace{};
  };
  std::string agent_id{};
  std::map<TaskKey, Claim> claims{};
  std::map<DeviceId, FencingToken> floors{};
  std::map<TaskKey, Records> tasks{};  // those that are prepared
};

class Host final : public Server, public Runtime, public Claims {
 public:
  Host(World& world, int number, int devices);
  ~Host() override;

  const NodeId& node() const { return node_; }
  void start_agent();
  void kill_agent();
  void freeze_agent(Duration span);
  void thaw();
  void lose_disk();  // the agent dies, too
  void fill_disk(Duration span);
  void restart();  // of the host
  void kill_a_shim();
  bool has_agent() const { return runner_ != nullptr; }
  void say_claims() const;
  std::string what_is_left() const;
  bool is_idle() const { return shims_.empty() && disk_.claims.empty(); }

  // What arrives from a control plane.
  void hear(ServerMessage message);
  void disconnected(const std::shared_ptr<Connection>& connection);

 private:
  // A task's processes and the shim that keeps them. The main process dies with its shim; others
  // may outlive both, until the shim's guard has killed them.
  struct Shim {
    bool dead{};  // and processes of the task are left
    ShimTerms terms;
    ShimState state{};
    Instant wake_at = never;
    bool child{};        // a process of the task lives
    bool started{};      // and is the program
    bool leaves_some{};  // when the main one ends
    bool heeds_notice{};
    std::optional<Exit> ended{};       // the main one
    std::optional<Instant> kill_at{};  // when a SIGKILL takes effect
    Instant ends_at = never;           // in the world's time, as things stand
    std::optional<Exit> end{};
    bool waits_for_room{};   // to write its record
    bool reads_disk = true;  // false: its directory is gone and it has not noticed
    std::optional<StopCause> stop{};
    Instant lease{};
    std::vector<DeviceId> devices{};
    FencingToken token{};
  };
  class Preparing;

  // Server.
  std::vector<ServerMessage> take() override;
  void send(const Report& report) override;
  void send_log(std::uint64_t, const std::optional<LogPart>&) override {}
  void introduce(const NodeInventory& inventory, FencingToken newest) override;

  // Runtime.
  Result<Done, RuntimeError> prepare(const PrepareOrder& order) override;
  Result<Done, RuntimeError> start(const TaskKey& key, Instant lease) override;
  void extend(const TaskKey& key, Instant lease) override;
  void stop(const TaskKey& key, StopCause cause) override;
  std::vector<Observed> observe(const std::vector<StartedTask>& started) override;
  Result<Done, RuntimeError> commit(const TaskKey& key) override;
  void release(const TaskKey& key) override;
  std::optional<LogPart> read_log(const TaskKey&, std::int64_t, std::int64_t) override {
    return std::nullopt;
  }

  // Claims.
  Result<Kept, std::string> load() override;
  Result<Done, std::string> write(const Claim& claim) override;
  Result<Done, std::string> write_floors(const std::map<DeviceId, FencingToken>& floors) override;
  void erase(const TaskKey& key) override;

  template <class Change>
  Result<Done, std::string> write_down(Change change);
  bool is_full() const;

  void dial();
  void wake(Instant when);
  void step_agent();
  Observed look(const TaskKey& key, Disk::Records& records);
  void wake_shim(const TaskKey& key, Instant when);
  void step_shim(const TaskKey& key);
  void obey(const TaskKey& key, Shim& shim, const ShimOrders& orders);
  void end_process(const TaskKey& key, Shim& shim, Duration wait, const Exit& exit);
  void main_ended(const TaskKey& key, const Exit& exit);
  void kill_what_is_left(const TaskKey& key);
  Duration time_to_kill();
  void remove_shim(const TaskKey& key);
  std::string draw_id();

  World& world_;
  const NodeId node_;
  const std::string address_;
  std::vector<Device> devices_;
  Random chance_;
  Disk disk_;
  std::uint64_t boot_ = 1;
  std::unique_ptr<DriftingClock> clock_;  // of this boot
  std::unique_ptr<Preparing> preparing_;
  std::unique_ptr<Runner> runner_;
  std::uint64_t life_{};  // of the agent process
  std::vector<ServerMessage> mail_;
  std::shared_ptr<Connection> connection_;
  bool told_connected_{};
  std::map<TaskKey, Shim> shims_;
  Instant full_until_{};
  Instant frozen_until_{};
  Instant wake_at_ = never;
};

}  // namespace keel::sim
