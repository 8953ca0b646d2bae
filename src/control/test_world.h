// A controller with its store and one node, as its tests play with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"

namespace keel {

inline const NodeId n1{"n1"};

// A controller, its store as a list of batches, and one node of four GPUs that says what it is told
// to.
struct World {
  explicit World(const Loaded& loaded = {}) : controller(policy, Epoch{1}, loaded, now) {
    for (const Job& job : loaded.jobs) rows[job.id] = job;
    begin = loaded.seq;
  }

  Policy policy;
  Instant now{seconds(1000).us};
  Controller controller;
  Seq begin;
  std::vector<StoredEvent> log;
  std::map<JobId, Job> rows;
  std::uint64_t next_id = 1;
  std::uint64_t reports = 0;
  Turn last;

  const Turn& turn(std::vector<Input> inputs = {}, Lookups lookups = {}) {
    for (const Input& input : inputs) {
      if (std::holds_alternative<SubmitInput>(input)) lookups.fresh_ids.push_back({next_id++});
    }
    last = controller.decide(now, std::move(inputs), lookups);
    EXPECT_EQ(last.after.value, begin.value + log.size());
    log.insert(log.end(), last.batch.events.begin(), last.batch.events.end());
    for (const Job& job : last.batch.jobs) rows[job.id] = job;
    return last;
  }
  // Lets time pass as it does for a control plane that is there all the while.
  void pass(Duration span) {
    const Instant end = now + span;
    while (now < end) {
      now = std::min(now + seconds(1), end);
      turn();
    }
  }
  void connect(SessionNo session = {1}, const std::string& agent = "first",
               FencingToken newest = {}) {
    NodeInventory inventory{
        .id = n1, .agent_id = agent, .address = "a", .cpu = {64'000}, .memory = gibibytes(64)};
    for (const char* uuid : {"g0", "g1", "g2", "g3"}) {
      inventory.devices.push_back({.id = {uuid}, .model = "h100"});
    }
    turn({AgentConnected{n1, session, inventory, newest}});
  }
  const Turn& report(std::vector<TaskReport> tasks, SessionNo session = {1}) {
    return turn({AgentReported{n1, session, {{++reports}, true, std::nullopt, std::move(tasks)}}});
  }
  SubmitInput submit(std::uint32_t tasks, std::uint32_t gpus, std::string key = "",
                     std::uint8_t said = 1) {
    JobSpec spec{.gang = {.tasks = tasks, .gpus_per_task = gpus}, .time_limit = hours(1)};
    return {.ticket = {1},
            .owner = {.user = "ana"},
            .key = std::move(key),
            .said = Digest{{said}},
            .spec = spec};
  }
  // Job 1, of one task with as many GPUs, running on the node.
  void run_a_job(std::uint32_t gpus) {
    connect();
    report({});
    turn({submit(1, gpus)});
    report(all({1}, TaskPhase::prepared));
    report(all({1}, TaskPhase::running));
  }
  JobState state(std::uint64_t job) const { return rows.at({job}).state; }
  std::vector<TaskReport> all(JobId id, TaskPhase phase, Exit exit = {.clean = true}) const {
    std::vector<TaskReport> tasks;
    const Job& job = rows.at(id);
    for (std::uint32_t i = 0; i < job.tasks.size(); ++i) {
      tasks.push_back({{id, job.attempt, i}, job.token, phase, exit});
    }
    return tasks;
  }
  template <class Kind>
  int sent() const {
    return static_cast<int>(std::ranges::count_if(last.to_agents, [](const ToAgent& out) {
      const auto* due = std::get_if<ToAgent::Ask>(&out.message);
      return due != nullptr && std::holds_alternative<Kind>(due->duty.kind);
    }));
  }
};

}  // namespace keel
