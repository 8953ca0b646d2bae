// What people were told.
#pragma once

#include <map>
#include <set>

#include "core/submit.h"
#include "model/ids.h"
#include "model/job.h"
#include "sim/model_store.h"

namespace keel::sim {

// I5: an acknowledged submission exists for ever after, as it was said.
// I7: one key is one job; another spec under it is a conflict that names the first.
// I14: what was canceled stays canceled.
class PromiseChecker {
 public:
  void acknowledged(const SubmitKey& key, const Digest& said, JobId job);
  void conflicted(const SubmitKey& key, const Digest& said, JobId first);
  void canceled(JobId job, JobState state);
  void kept(const ModelRows& rows) const;

 private:
  std::map<SubmitKey, Earlier> submissions_;
  std::map<JobId, JobState> ends_;
};

}  // namespace keel::sim
