#include "core/lifecycle.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace keel {
namespace {

constexpr FencingToken token{7};

Job queued_job() {
  Job job = create(JobId{1}, Instant{100}, Submitted{.shape = {.gang = {.tasks = 2}}});
  EXPECT_TRUE(apply(job, Instant{100}, Admitted{}));
  return job;
}

Job after(Job job, const std::vector<JobEvent>& events) {
  for (const JobEvent& event : events) {
    EXPECT_TRUE(apply(job, Instant{100}, event)) << name_of(event) << " in " << print(job.state);
  }
  return job;
}

const Reserved reservation{.token = token, .slots = {{NodeId{"n1"}, {}}, {NodeId{"n2"}, {}}}};
const std::vector<JobEvent> to_running = {
    reservation,           TaskPrepared{token, 0}, TaskPrepared{token, 1}, Launched{token},
    TaskStarted{token, 0}, TaskStarted{token, 1},  Started{token}};

// A job as it stands in `state` on its plainest way there.
Job job_in(JobState state) {
  const Job running = after(queued_job(), to_running);
  const Job finishing = after(running, {TaskEnded{token, 0, {.clean = true}},
                                        TaskEnded{token, 1, {.clean = true}}, Ended{token}});
  const Job reserved = after(queued_job(), {reservation});
  switch (state) {
    case JobState::accepted: return create(JobId{1}, Instant{100}, Submitted{});
    case JobState::queued: return after(reserved, {Voided{token, Reason::claim_expired, {}}});
    case JobState::reserved: return reserved;
    case JobState::launching:
      return after(reserved, {TaskPrepared{token, 0}, TaskPrepared{token, 1}, Launched{token}});
    case JobState::running: return running;
    case JobState::finishing: return finishing;
    case JobState::preempting: return after(running, {Preempted{token}});
    case JobState::unknown: return after(running, {Silenced{}});
    case JobState::succeeded: return after(finishing, {Succeeded{}});
    case JobState::failed: return after(finishing, {Failed{Reason::program_failed}});
    case JobState::canceled: return after(running, {Canceled{}});
    case JobState::expired:
      return after(reserved, {Voided{token, Reason::claim_expired, {}}, Expired{}});
    case JobState::rejected:
      return after(create(JobId{1}, Instant{100}, Submitted{}), {Rejected{Reason::exceeds_fleet}});
  }
  ADD_FAILURE() << "no way to this state";
  return {};
}

// Each event as somebody would say it of the current attempt of job_in().
JobEvent event_named(std::string_view name) {
  const std::vector<JobEvent> all = {Submitted{},
                                     Admitted{},
                                     Rejected{},
                                     Expired{},
                                     Reserved{.token = {8}, .slots = reservation.slots},
                                     Voided{.token = token},
                                     TaskPrepared{token, 0},
                                     Launched{token},
                                     TaskStarted{token, 0},
                                     Started{token},
                                     TaskEnded{token, 0, {.clean = true}},
                                     Ended{token},
                                     TaskSettled{token, 0},
                                     Succeeded{},
                                     Failed{},
                                     Requeued{},
                                     Preempted{token},
                                     Silenced{},
                                     Heard{},
                                     LateSucceeded{token},
                                     Canceled{}};
  static_assert(std::variant_size_v<JobEvent> == 21, "a new event needs its column and its row");
  for (const JobEvent& event : all) {
    if (name_of(event) == name) return event;
  }
  ADD_FAILURE() << "the document names an event that is none: " << name;
  return {};
}

std::string outcome_of(Job job, const JobEvent& event) {
  const Job before = job;
  const auto result = apply(job, Instant{200}, event);
  if (result) {
    if (job.state != before.state) {
      EXPECT_EQ(job.since, Instant{200});
    }
    return std::string(print(job.state));
  }
  EXPECT_EQ(job, before) << "a refused event leaves no trace";
  return result.error() == TransitionError::stale ? "-" : "!";
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word != "|") cells.push_back(word);
  }
  return cells;
}

TEST(Lifecycle, does_what_the_document_says) {
  std::ifstream document(SOURCE_DIR "/docs/job-states.md");
  ASSERT_TRUE(document);
  std::vector<std::string> header;
  std::map<std::string, std::set<std::string>> seen;  // event -> states
  for (std::string line; std::getline(document, line);) {
    if (!line.starts_with("| ")) continue;
    const auto cells = cells_of(line);
    if (cells.front() == "state") {
      header = cells;
      continue;
    }
    const auto state = parse_job_state(cells.front());
    if (!state || header.size() < 3) continue;  // the table of meanings has two columns
    SCOPED_TRACE(line);
    ASSERT_EQ(cells.size(), header.size());
    for (std::size_t i = 1; i < cells.size(); ++i) {
      EXPECT_EQ(cells[i], outcome_of(job_in(*state), event_named(header[i]))) << header[i];
      seen[header[i]].insert(cells.front());
    }
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<JobEvent>) << "every event has a column";
  for (const auto& [event, states] : seen) {
    EXPECT_EQ(states.size(), job_state_count) << event << " lacks a row";
  }
}

TEST(Lifecycle, an_older_attempt_is_never_heard_and_a_newer_one_is_an_alarm) {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const Job job = job_in(JobState(i));
    if (job.token.value == 0) continue;
    for (const bool older : {true, false}) {
      const FencingToken other{older ? token.value - 1 : token.value + 1};
      for (const JobEvent& event : std::vector<JobEvent>{
               Voided{.token = other}, TaskPrepared{other, 0}, Launched{other},
               TaskStarted{other, 0}, Started{other}, TaskEnded{other, 0, {}}, Ended{other},
               TaskSettled{other, 0}, Preempted{other}, LateSucceeded{other}}) {
        EXPECT_EQ(outcome_of(job, event), older ? "-" : "!")
            << name_of(event) << " in " << print(job.state);
      }
    }
  }
}

TEST(Lifecycle, a_task_that_the_gang_does_not_have_is_an_alarm) {
  for (const JobEvent& event : std::vector<JobEvent>{TaskPrepared{token, 2}, TaskStarted{token, 2},
                                                     TaskEnded{token, 2, {}}}) {
    EXPECT_EQ(outcome_of(job_in(JobState::launching), event), "!") << name_of(event);
  }
}

TEST(Lifecycle, the_first_failure_is_remembered_and_a_stop_that_we_ordered_is_none) {
  Job job = after(job_in(JobState::running), {});
  const Exit stopped{
      .kind = ExitKind::signaled, .code = 15, .cause = StopCause::sibling_failed, .clean = true};
  job = after(job, {TaskEnded{token, 0, stopped}});
  EXPECT_EQ(job.first_failed, std::nullopt);
  job = after(job, {TaskEnded{token, 1, Exit{.kind = ExitKind::exited, .code = 3, .clean = true}}});
  EXPECT_EQ(job.first_failed, 1U);
}

TEST(Lifecycle, a_dirty_end_holds_its_devices_until_it_is_clean) {
  Job job = after(job_in(JobState::running), {TaskEnded{token, 0, Exit{.clean = false}}});
  EXPECT_TRUE(holds_devices(job.tasks[0]));
  EXPECT_EQ(outcome_of(job, TaskEnded{token, 0, Exit{.clean = false}}), "-");
  job = after(job, {TaskEnded{token, 0, Exit{.clean = true}}});
  EXPECT_FALSE(holds_devices(job.tasks[0]));
}

TEST(Lifecycle, a_cancel_before_start_frees_at_once_and_one_after_waits_for_each_end) {
  const Job early = after(job_in(JobState::reserved), {Canceled{}});
  EXPECT_FALSE(holds_devices(early.tasks[0]));
  Job late = after(job_in(JobState::launching), {Canceled{}});
  EXPECT_TRUE(holds_devices(late.tasks[0]));
  late = after(late, {TaskEnded{token, 0, Exit{.kind = ExitKind::not_started, .clean = true}}});
  EXPECT_FALSE(holds_devices(late.tasks[0]));
  EXPECT_TRUE(holds_devices(late.tasks[1]));
  EXPECT_EQ(late.state, JobState::canceled);
}

TEST(Lifecycle, the_next_grant_must_exceed_the_last) {
  Job job = job_in(JobState::queued);
  EXPECT_EQ(outcome_of(job, Reserved{.token = token, .slots = reservation.slots}), "!");
  EXPECT_EQ(outcome_of(job, Reserved{.token = {8}, .slots = {}}), "!") << "a gang is whole";
  job = after(job, {Reserved{.token = {8}, .slots = reservation.slots}});
  EXPECT_EQ(job.attempt, AttemptNo{2});
}

}  // namespace
}  // namespace keel
