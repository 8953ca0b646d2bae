// What happened to a job, from its stored events alone: which states it was in, and for how long.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "keel/v1/event.pb.h"
#include "model/event.h"
#include "model/job.h"
#include "wire/bad_bytes.h"

namespace keel::cli {

struct Stay {
  JobState state{};
  Instant entered{};
  std::optional<Instant> left{};  // none: it is still there
  std::string because{};          // what brought it here, in words
};

// Folds events as the control plane does. Feed them in order, from the first.
class Timeline {
 public:
  // An event that does not fit what came before is an error, and changes nothing.
  Result<Done, BadBytes> add(const v1::Event& event);

  const std::vector<Stay>& stays() const { return stays_; }
  const std::optional<Job>& job() const { return job_; }
  bool was(JobState state) const;
  // The latest attempt that was launched, and so may have output; 0: none was.
  AttemptNo launched() const { return launched_; }

 private:
  std::optional<Job> job_;
  AttemptNo launched_;
  std::vector<Stay> stays_;
};

// The table that `keel events` shows; `now` is where a state that goes on is measured to.
std::string print_timeline(const Timeline& timeline, Instant now);

// "attempt 2 on node-1, node-2", "no_free_gpus", "task 1: exit code 3": what an event adds to the
// state that it leads to.
std::string because_of(const Job& after, const JobEvent& event);

}  // namespace keel::cli
