#include "apps/keel/timeline.h"

#include <gmock/gmock.h>

#include "apps/keel/words.h"
#include "wire/convert.h"

namespace keel::cli {
namespace {

using testing::HasSubstr;

class TimelineTest : public testing::Test {
 protected:
  Result<Done, BadBytes> add(std::int64_t at_s, const JobEvent& event) {
    return timeline_.add(
        to_pb(StoredEvent{{++seq_}, Instant{} + seconds(at_s), JobFact{{7}, event}}));
  }
  void add_all(const std::vector<std::pair<std::int64_t, JobEvent>>& events) {
    for (const auto& [at_s, event] : events) {
      const auto added = add(at_s, event);
      ASSERT_TRUE(added.has_value()) << name_of(event) << ": " << added.error().what;
    }
  }
  std::vector<std::pair<JobState, std::string>> told() const {
    std::vector<std::pair<JobState, std::string>> told;
    for (const Stay& stay : timeline_.stays()) told.emplace_back(stay.state, stay.because);
    return told;
  }

  Submitted two_tasks() const {
    Submitted event{};
    event.shape.gang = {.tasks = 2, .gpus_per_task = 1, .gpu_model = ""};
    event.time_limit = hours(1);
    return event;
  }
  Reserved two_nodes(std::uint64_t token) const {
    return {.token = {token},
            .claim_by = Instant{} + seconds(1000),
            .port = 1,
            .slots = {Slot{{"node-1"}, {{"g1"}}}, Slot{{"node-2"}, {{"g2"}}}}};
  }

  Timeline timeline_;
  std::uint64_t seq_ = 0;
};

TEST_F(TimelineTest, the_states_of_a_job_follow_from_its_events) {
  const Exit good{.kind = ExitKind::exited, .text = {}};
  const Exit bad{.kind = ExitKind::exited, .code = 3, .text = {}};
  add_all({{100, two_tasks()},
           {101, Admitted{}},
           {102, two_nodes(1)},
           {103, TaskPrepared{{1}, 0}},
           {104, TaskPrepared{{1}, 1}},
           {104, Launched{{1}}},
           {105, TaskStarted{{1}, 0}},
           {106, TaskStarted{{1}, 1}},
           {106, Started{{1}}},
           {110, TaskEnded{{1}, 0, good}},
           {111, TaskEnded{{1}, 1, bad}},
           {111, Ended{{1}}},
           {112, TaskSettled{{1}, 0}},
           {113, TaskSettled{{1}, 1}},
           {113, Failed{Reason::program_failed}}});
  const std::vector<std::pair<JobState, std::string>> expected{
      {JobState::accepted, "submitted"},
      {JobState::queued, ""},
      {JobState::reserved, "attempt 1 on node-1, node-2"},
      {JobState::launching, "all tasks are prepared"},
      {JobState::running, "all tasks have started"},
      {JobState::finishing, "all tasks have ended"},
      {JobState::failed, "program_failed, task 1: exit code 3"},
  };
  EXPECT_EQ(told(), expected);
  EXPECT_TRUE(timeline_.was(JobState::running));
  EXPECT_FALSE(timeline_.was(JobState::canceled));
  const std::string table = print_timeline(timeline_, Instant{} + seconds(500));
  EXPECT_THAT(table, HasSubstr("running    5s   all tasks have started\n"));
  EXPECT_THAT(table, HasSubstr("failed     -    program_failed"));
}

TEST_F(TimelineTest, a_state_that_goes_on_is_measured_to_now) {
  add_all({{100, two_tasks()}, {101, Admitted{}}});
  EXPECT_THAT(print_timeline(timeline_, Instant{} + seconds(163)), HasSubstr("queued    1m2s…"));
}

TEST_F(TimelineTest, an_event_that_does_not_fit_is_an_error_and_changes_nothing) {
  EXPECT_FALSE(add(100, Admitted{}).has_value());
  EXPECT_TRUE(timeline_.stays().empty());
  add_all({{100, two_tasks()}});
  EXPECT_FALSE(add(101, Started{{9}}).has_value());
  EXPECT_EQ(timeline_.stays().size(), 1u);
  EXPECT_FALSE(timeline_.add(v1::Event{}).has_value());
}

}  // namespace
}  // namespace keel::cli
