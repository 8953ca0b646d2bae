// What is stored is looked at before anybody leads by it (KNOWN-FAULTS, B-E17).
#include "control/recover.h"

#include <gtest/gtest.h>

#include "sim/model_store.h"

namespace keel {
namespace {

struct Stored {
  std::shared_ptr<ModelRows> rows = std::make_shared<ModelRows>();
  ModelStore store{rows};
  Job job{.id = {1}, .state = JobState::running, .attempt = {2}, .token = {7}};

  Stored() {
    job.tasks = {{.node = {"n1"}, .devices = {{"g0"}, {"g1"}}, .state = TaskState::running},
                 {.node = {"n1"}, .devices = {{"g2"}}, .state = TaskState::settled}};
    rows->jobs[job.id] = job;
    rows->nodes[{"n1"}] = {.inventory = {.id = {"n1"}}};
    hold("g0", 0);
    hold("g1", 0);
  }
  void hold(const std::string& device, std::uint32_t task, FencingToken token = {7}) {
    rows->holdings[{device}] = {{device}, {{1}, {2}, task}, token};
  }
  std::string trouble() {
    const auto recovered = recover(store);
    if (recovered) return "";
    EXPECT_EQ(recovered.error().code, StoreError::Code::unreadable);
    return recovered.error().detail;
  }
};

TEST(Recover, reads_what_is_consistent) { EXPECT_EQ(Stored().trouble(), ""); }

TEST(Recover, refuses_a_device_that_is_held_by_whom_it_does_not_belong_to) {
  const std::string print_of_first = print(TaskKey{{1}, {2}, 0});
  for (const FencingToken token : {FencingToken{6}, FencingToken{8}}) {
    Stored stored;
    stored.hold("g1", 0, token);
    EXPECT_EQ(stored.trouble(),
              "device g1: held by " + print_of_first + ", which does not have it");
  }
  Stored stored;
  stored.hold("g2", 1);
  EXPECT_EQ(stored.trouble(),
            "device g2: held by " + print(TaskKey{{1}, {2}, 1}) + ", which does not have it");
}

TEST(Recover, refuses_two_jobs_with_one_device) {
  Stored stored;
  Job other = stored.job;
  other.id = {2};
  stored.rows->jobs[other.id] = other;
  EXPECT_EQ(stored.trouble(), "device g0: " + print(TaskKey{{2}, {2}, 0}) + " has it, and so has " +
                                  print(TaskKey{{1}, {2}, 0}));
}

TEST(Recover, refuses_a_task_on_a_node_that_was_never_reported) {
  Stored stored;
  stored.rows->nodes.clear();
  EXPECT_EQ(stored.trouble(), "job " + print(JobId{1}) + " is on node n1, which has no row");
}

TEST(Recover, refuses_a_task_whose_device_is_not_held) {
  Stored stored;
  stored.rows->holdings.erase({"g1"});
  EXPECT_EQ(stored.trouble(),
            "device g1: " + print(TaskKey{{1}, {2}, 0}) + " has it and does not hold it");
}

}  // namespace
}  // namespace keel
