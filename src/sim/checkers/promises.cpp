#include "sim/checkers/promises.h"

#include "sim/checkers/violation.h"

namespace keel::sim {

void PromiseChecker::acknowledged(const SubmitKey& key, const Digest& said, JobId job) {
  const auto [first, fresh] = submissions_.try_emplace(key, Earlier{job, said});
  if (fresh) return;
  expect(first->second.said == said, "I7", "key " + key.key + " took another spec");
  expect(first->second.job == job, "I7",
         "key " + key.key + " made " + print(first->second.job) + " and " + print(job));
}

void PromiseChecker::conflicted(const SubmitKey& key, const Digest& said, JobId first) {
  const auto known = submissions_.find(key);
  if (known == submissions_.end()) return;  // its own acknowledgement is still on its way
  expect(known->second.said != said, "I7", "key " + key.key + " refuses what it had taken");
  expect(known->second.job == first, "I7", "key " + key.key + " names another job");
}

void PromiseChecker::canceled(JobId job, JobState state) {
  expect(is_terminal(state), "I14", print(job) + " is said to be canceled and is not over");
  const auto [said, fresh] = ends_.try_emplace(job, state);
  expect(said->second == state, "I14", print(job) + " has two ends");
}

void PromiseChecker::kept(const ModelRows& rows) const {
  for (const auto& [key, made] : submissions_) {
    const auto row = rows.jobs.find(made.job);
    expect(row != rows.jobs.end(), "I5", print(made.job) + " is gone");
    expect(row->second.said == made.said && row->second.owner.user == key.user, "I5",
           print(made.job) + " is another job");
  }
  for (const auto& [job, state] : ends_) {
    expect(rows.jobs.at(job).state == state, "I14", print(job) + " was over and is not");
  }
}

}  // namespace keel::sim
