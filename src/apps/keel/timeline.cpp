#include "apps/keel/timeline.h"

#include <algorithm>
#include <set>

#include "apps/keel/table.h"
#include "apps/keel/words.h"
#include "core/lifecycle.h"
#include "wire/convert.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

constexpr std::size_t nodes_told_max = 3;

std::string node_list(const Job& job) {
  std::set<std::string> names;
  for (const Task& task : job.tasks) names.insert(task.node.name);
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == nodes_told_max) break;
    text += (text.empty() ? "" : ", ") + name;
  }
  const std::size_t more = names.size() - std::min(names.size(), nodes_told_max);
  return text + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string end_of_failed_task(const Job& job) {
  if (!job.first_failed || *job.first_failed >= job.tasks.size()) return "";
  const Task& task = job.tasks[*job.first_failed];
  return ", task " + std::to_string(*job.first_failed) + ": " + describe(task.exit);
}

std::string retried(Reason reason) { return std::string(print(reason)) + ", to be tried again"; }

struct Words {
  const Job& job;

  std::string operator()(const Reserved&) const {
    return "attempt " + std::to_string(job.attempt.value) + " on " + node_list(job);
  }
  std::string operator()(const Voided& event) const {
    if (event.text.empty()) return retried(event.reason);
    return retried(event.reason) + "; task " + std::to_string(event.refused) + ": " +
           printable(event.text);
  }
  std::string operator()(const Rejected& event) const { return std::string(print(event.reason)); }
  std::string operator()(const Failed& event) const {
    return std::string(print(event.reason)) + end_of_failed_task(job);
  }
  std::string operator()(const Requeued& event) const { return retried(event.reason); }
  std::string operator()(const Launched&) const { return "all tasks are prepared"; }
  std::string operator()(const Started&) const { return "all tasks have started"; }
  std::string operator()(const Ended&) const { return "all tasks have ended"; }
  std::string operator()(const Silenced&) const { return "a node cannot be heard"; }
  std::string operator()(const Heard&) const { return "its nodes are heard again"; }
  std::string operator()(const LateSucceeded&) const { return "its last attempt did succeed"; }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

}  // namespace

std::string because_of(const Job& after, const JobEvent& event) {
  return std::visit(Words{after}, event);
}

Result<Done, BadBytes> Timeline::add(const v1::Event& sent) {
  TRY(stored, from_pb(sent));
  const auto* fact = std::get_if<JobFact>(&stored.fact);
  if (fact == nullptr) return BadBytes{"Event.subject: not a job"};
  if (!job_) {
    const auto* first = std::get_if<Submitted>(&fact->event);
    if (first == nullptr) return BadBytes{"Event.event: the first one is no submission"};
    job_ = create(fact->job, stored.at, *first);
    stays_.push_back({.state = job_->state, .entered = stored.at, .because = "submitted"});
    return Done{};
  }
  const Job before = *job_;
  if (!apply(*job_, stored.at, fact->event)) return BadBytes{"Event.event: does not fit the state"};
  if (job_->state == before.state && job_->attempt == before.attempt) return Done{};
  if (job_->state == JobState::launching) launched_ = job_->attempt;
  stays_.back().left = stored.at;
  stays_.push_back({.state = job_->state,
                    .entered = stored.at,
                    .left = std::nullopt,
                    .because = because_of(*job_, fact->event)});
  return Done{};
}

bool Timeline::was(JobState state) const {
  return std::any_of(stays_.begin(), stays_.end(),
                     [&](const Stay& stay) { return stay.state == state; });
}

std::string print_timeline(const Timeline& timeline, Instant now) {
  Table table({"TIME", "STATE", "FOR", "BECAUSE"});
  for (const Stay& stay : timeline.stays()) {
    const bool is_last = !stay.left && is_terminal(stay.state);
    const Duration lasted = stay.left.value_or(now) - stay.entered;
    table.add({local_time(stay.entered), std::string(print(stay.state)),
               is_last ? "-" : fine_age(lasted) + (stay.left ? "" : "…"), or_dash(stay.because)});
  }
  return table.print();
}

}  // namespace keel::cli
