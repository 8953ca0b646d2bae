// Following one job: its states from the events, its output from the logs, until it ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/keel/log_reader.h"
#include "apps/keel/patience.h"
#include "apps/keel/session.h"
#include "apps/keel/timeline.h"
#include "keel/v1/api.pb.h"

namespace keel::cli {

// A job's events, as far as they were heard.
class Watch {
 public:
  Watch(const Session& session, std::string job) : session_(session), job_(std::move(job)) {}

  // Hears what is new; waits up to `wait_ms` for something.
  Result<Done, ClientError> hear(int wait_ms);

  const Timeline& timeline() const { return timeline_; }
  bool is_over() const;
  bool was(JobState state) const { return timeline_.was(state); }

 private:
  const Session& session_;
  std::string job_;
  std::uint64_t after_{};
  Timeline timeline_;
};

struct Following {
  std::string job{};    // an id, not "last"
  bool tells_states{};  // on err, with times
  bool cancels{};       // at the first Ctrl-C; otherwise it ends the following
  LineWriter::Options lines{};
  std::vector<std::uint32_t> tasks{};      // whose output is shown
  std::optional<std::uint32_t> attempt{};  // only this one's
};

// Until the job has ended and its output is read, or Ctrl-C. Gives the job as it is then, or
// nothing after Ctrl-C. Goes on through lost connections of up to a minute, from each attempt to
// the next, and without output that cannot be read.
Result<std::optional<v1::JobView>, ClientError> follow(const Session& session,
                                                       const Following& what);

// The tasks whose output is shown where nobody names one: all, or the first of very many.
std::vector<std::uint32_t> tasks_to_show(const v1::JobView& view, std::ostream& err);

}  // namespace keel::cli
