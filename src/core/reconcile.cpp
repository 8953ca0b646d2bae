#include "core/reconcile.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/plant.h"
#include "core/launch.h"

namespace keel {
namespace {

// The job's task that this report is about, where it is about the current attempt and on its node.
const Task* wanted(const State& state, const NodeId& node, const TaskReport& report) {
  const Job* job = state.find(report.key.job);
  if (job == nullptr) return nullptr;
  const bool current = job->attempt == report.key.attempt && job->token == report.token;
  if (!current && !planted(Plant::exit_replayed)) return nullptr;
  if (report.key.task >= job->tasks.size()) return nullptr;
  const Task& task = job->tasks[report.key.task];
  return task.node == node && task.state != TaskState::settled ? &task : nullptr;
}

Exit lost(std::string text) {
  return {.kind = ExitKind::lost, .clean = true, .text = std::move(text)};
}

// It was told START, and the store was put back to before that was stored: all were prepared.
void note_launch(const Job& job, std::vector<JobFact>& facts) {
  const bool noted = std::ranges::any_of(facts, [&](const JobFact& fact) {
    return fact.job == job.id && std::holds_alternative<Launched>(fact.event);
  });
  if (noted) return;
  for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
    if (job.tasks[rank].state != TaskState::reserved) continue;
    facts.push_back({job.id, TaskPrepared{job.token, rank}});
  }
  facts.push_back({job.id, Launched{job.token}});
}

void facts_of(const TaskReport& report, const Job& job, const Task& task, Instant now,
              const Policy& policy, std::vector<JobFact>& facts) {
  const auto say = [&](JobEvent event) { facts.push_back({report.key.job, std::move(event)}); };
  const std::uint32_t rank = report.key.task;
  const bool reserved = job.state == JobState::reserved;
  switch (report.phase) {
    case TaskPhase::preparing: return;
    case TaskPhase::prepared:
      if (task.state == TaskState::reserved) say(TaskPrepared{report.token, rank});
      return;
    case TaskPhase::running:
      if (reserved) note_launch(job, facts);
      if (reserved || task.state == TaskState::prepared) say(TaskStarted{report.token, rank});
      return;
    case TaskPhase::ended:
    case TaskPhase::settled:
      if (reserved && report.exit.kind == ExitKind::not_started) {
        // The agent gave the claim up by itself.
        say(Voided{report.token, Reason::claim_expired, next_try(job, now, policy)});
        return;
      }
      if (reserved) note_launch(job, facts);
      // A task that was over before anybody heard of its start had started all the same.
      if ((reserved || task.state == TaskState::prepared) &&
          report.exit.kind != ExitKind::not_started) {
        say(TaskStarted{report.token, rank});
      }
      if (task.state != TaskState::ended || (!task.exit.clean && report.exit.clean)) {
        say(TaskEnded{report.token, rank, report.exit});
      }
      if (report.phase == TaskPhase::settled) say(TaskSettled{report.token, rank});
      return;
    case TaskPhase::refused:
      if (job.state == JobState::reserved) {
        say(Voided{.token = report.token,
                   .reason = report.refusal,
                   .not_before = next_try(job, now, policy),
                   .refused = rank,
                   .text = report.text});
      } else {
        say(TaskEnded{report.token, rank, lost(report.text)});
      }
      return;
  }
  check(false, "every phase tells its facts");
}

bool is_foreign(const TaskReport& report, const State& state) {
  if (report.token == FencingToken{}) return true;
  return !state.was_given(report.token) && is_live(report.phase, report.exit);
}

// What to do about a task that nobody wants there.
DutyKind order_for(const TaskReport& report, const State& state) {
  switch (report.phase) {
    case TaskPhase::preparing:
    case TaskPhase::prepared:
    case TaskPhase::running: {
      const Job* job = state.find(report.key.job);
      const bool canceled = job != nullptr && job->state == JobState::canceled;
      return Stop{canceled ? StopCause::canceled : StopCause::superseded};
    }
    case TaskPhase::ended:
    case TaskPhase::settled:
    case TaskPhase::refused: return Release{};
  }
  check(false, "every phase can be ended");
  return {};
}

// A task that the agent once had and does not report: its claim is gone, and nothing of it runs.
void note_missing(const Job& job, std::uint32_t rank, Instant retry, std::vector<JobFact>& facts) {
  const Task& task = job.tasks[rank];
  switch (task.state) {
    case TaskState::reserved:
    case TaskState::settled: return;
    case TaskState::prepared:
      if (job.state == JobState::reserved) {
        facts.push_back({job.id, Voided{job.token, Reason::node_lost, retry}});
        return;
      }
      [[fallthrough]];
    case TaskState::running:
      facts.push_back({job.id, TaskEnded{job.token, rank, lost("the node no longer knows it")}});
      return;
    case TaskState::ended:
      if (job.state == JobState::finishing) {
        const JobFact requeued{job.id, Requeued{Reason::node_lost, retry}};
        // Once, however many of its tasks are missing.
        if (facts.empty() || facts.back() != requeued) facts.push_back(requeued);
      } else if (!task.exit.clean) {
        facts.push_back({job.id, TaskEnded{job.token, rank, Exit{.clean = true}}});
      }
      return;
  }
  check(false, "every task state can go missing");
}

}  // namespace

Told facts_told(const NodeId& node, const Report& report, const State& state, Instant now,
                const Policy& policy) {
  check(report.full, "only a full report tells what a node does not have");
  Told told;
  std::set<TaskKey> heard;
  for (const TaskReport& task : report.tasks) {
    if (task.token > state.last_token()) told.alarms.push_back(task.key);
    if (is_foreign(task, state)) {
      told.foreign.push_back({task.key, task.token});
      // What has no claim may be ours all the same; what has a token of its own is not.
      if (task.token == FencingToken{}) heard.insert(task.key);
      continue;
    }
    heard.insert(task.key);
    if (const Task* ours = wanted(state, node, task)) {
      facts_of(task, *state.find(task.key.job), *ours, now, policy, told.facts);
    }
  }
  for (const auto& [id, count] : state.jobs_on(node)) {
    const Job& job = *state.find(id);
    for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
      if (job.tasks[rank].node != node) continue;
      if (heard.contains({id, job.attempt, rank})) continue;
      note_missing(job, rank, next_try(job, now, policy), told.facts);
    }
  }
  return told;
}

std::vector<Duty> orders_due(const NodeId& node, const Report& report, const State& state) {
  std::vector<Duty> orders;
  for (const TaskReport& task : report.tasks) {
    // What runs by a token that we do not know is left alone; what has not begun never will. What
    // has no token has no claim, and its agent stops it by itself.
    const bool runs = task.phase == TaskPhase::running || task.phase == TaskPhase::ended;
    if (is_foreign(task, state) && (runs || task.token == FencingToken{})) continue;
    if (wanted(state, node, task) != nullptr) continue;
    orders.push_back({node, task.key, task.token, order_for(task, state)});
  }
  return orders;
}

Duration proof_of_loss(Duration grace, const Policy& policy) {
  if (planted(Plant::silence_taken_for_loss)) return policy.silence;
  const Duration bound = policy.disconnect_stop + grace + policy.kill_bound;
  return bound + Duration{bound.us / 100};
}

std::vector<JobFact> facts_of_loss(const Job& job, const NodeId& node) {
  std::vector<JobFact> facts;
  for (std::uint32_t rank = 0; rank < job.tasks.size(); ++rank) {
    const Task& task = job.tasks[rank];
    if (task.node != node || task.state == TaskState::settled) continue;
    if (task.state != TaskState::ended || !task.exit.clean) {
      facts.push_back({job.id, TaskEnded{job.token, rank, lost("its node is gone")}});
    } else if (facts.empty() && job.state == JobState::unknown &&
               job.before_unknown == JobState::finishing) {
      facts.push_back({job.id, Heard{}});  // back to finishing, where its outputs are missed
      facts.push_back({job.id, Requeued{Reason::node_lost, job.since}});
    }
  }
  return facts;
}

}  // namespace keel
