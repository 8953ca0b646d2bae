#include "apps/keel/show.h"

#include <gmock/gmock.h>

#include "apps/keel/words.h"
#include "wire/convert.h"

namespace keel::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Look look{.now = Instant{} + seconds(1000), .wide = false};

v1::JobView running_job() {
  Job job{.id = {42}, .owner = {"anna", 1000, 1000}, .state = JobState::running};
  job.shape.gang = {.tasks = 2, .gpus_per_task = 4, .gpu_model = ""};
  job.submitted = Instant{} + seconds(100);
  job.since = Instant{} + seconds(940);
  job.attempt = {1};
  job.time_limit = hours(24);
  for (const char* node : {"node-1", "node-2"}) {
    job.tasks.push_back(Task{.node = {node},
                             .devices = {{"GPU-1"}, {"GPU-2"}},
                             .state = TaskState::running,
                             .started = Instant{} + seconds(970)});
  }
  v1::JobView view;
  *view.mutable_job() = to_pb(job);
  view.mutable_spec()->set_name("digits\x1b[2J");
  view.mutable_spec()->set_program("./train");
  view.mutable_spec()->add_args("--out");
  view.mutable_spec()->add_args("a b");
  view.mutable_spec()->set_time_limit("24h");
  view.mutable_spec()->set_grace("30s");
  view.mutable_spec()->set_stop_signal("TERM");
  view.add_gpu_models("emulated:h100-80gb");
  view.add_gpu_models("emulated:h100-80gb");
  return view;
}

TEST(Show, jobs_are_a_table_with_reason_and_nodes) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = running_job();
  v1::JobView& waiting = *jobs.add_jobs();
  waiting = running_job();
  waiting.mutable_job()->clear_tasks();
  waiting.mutable_job()->set_state(v1::QUEUED);
  waiting.mutable_job()->set_reason("no_free_gpus");
  EXPECT_EQ(show_jobs(jobs, look),
            "JOB            NAME           USER  STATE    REASON        TASKS  GPUS  AGE  NODES\n"
            "000000000001a  digits\\x1b[2J  anna  running  -             2      8     15m  "
            "node-1,node-2\n"
            "000000000001a  digits\\x1b[2J  anna  queued   no_free_gpus  2      8     15m  -\n");
  EXPECT_THAT(show_jobs(jobs, {.now = look.now, .wide = true}), HasSubstr("h100-80gb (emulated)"));
}

TEST(Show, many_nodes_are_counted) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = running_job();
  for (const char* node : {"node-3", "node-4", "node-4"}) {
    jobs.mutable_jobs(0)->mutable_job()->add_tasks()->set_node(node);
  }
  EXPECT_THAT(show_jobs(jobs, look), HasSubstr("node-1,node-2,+2\n"));
}

TEST(Show, a_job_is_described_in_full) {
  v1::JobView view = running_job();
  const std::string text = show_job(view, look);
  EXPECT_THAT(text, HasSubstr("Job          000000000001a\n"));
  EXPECT_THAT(text, HasSubstr("Owner        anna (uid 1000)\n"));
  EXPECT_THAT(text, HasSubstr("Program      ./train --out \"a b\"\n"));
  EXPECT_THAT(text, HasSubstr("Gang         2 tasks x 4 GPUs, any one model\n"));
  EXPECT_THAT(text, HasSubstr("Time limit   24h, of which 30s between TERM and KILL\n"));
  EXPECT_THAT(text, HasSubstr("running  node-1  GPU-1,GPU-2  h100-80gb (emulated)  30s  -\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("Reason")));

  view.mutable_job()->set_state(v1::FAILED);
  view.mutable_job()->set_reason("program_failed");
  view.set_reason_text("A task ended with an error.");
  view.mutable_job()->set_first_failed(1);
  view.mutable_job()->mutable_tasks(1)->set_state(v1::TASK_SETTLED);
  *view.mutable_job()->mutable_tasks(1)->mutable_exit() =
      to_pb(Exit{.kind = ExitKind::exited, .code = 3, .text = {}});
  const std::string failed = show_job(view, look);
  EXPECT_THAT(failed, HasSubstr("Reason       program_failed: A task ended with an error.\n"));
  EXPECT_THAT(failed, HasSubstr("Failed       task 1: exit code 3\n"));
}

TEST(Show, retries_are_told_where_there_were_or_may_be_some) {
  struct Row {
    std::uint32_t allowed, program, platform;
    const char* line;
  };
  for (const Row& row :
       {Row{0, 0, 0, ""}, Row{3, 0, 0, "Retries      0 of 3 after the program failed"},
        Row{3, 1, 0, "Retries      1 of 3 after the program failed"},
        Row{0, 0, 2, "Retries      2 after the platform failed"},
        Row{1, 1, 1,
            "Retries      1 of 1 after the program failed, 1 after the platform failed"}}) {
    v1::JobView view = running_job();
    view.mutable_job()->set_state(v1::FAILED);
    view.mutable_job()->set_retries(row.allowed);
    view.mutable_job()->set_user_failures(row.program);
    view.mutable_job()->set_infrastructure_failures(row.platform);
    const std::string text = show_job(view, look);
    const std::size_t at = text.find("Retries");
    EXPECT_EQ(at == text.npos ? "" : text.substr(at, text.find('\n', at) - at), row.line);
  }
}

TEST(Show, nodes_tell_what_is_free_who_holds_it_and_what_is_emulated) {
  v1::ListNodesResponse nodes;
  v1::NodeView& view = *nodes.add_nodes();
  NodeInventory inventory{.id = {"node-1"}, .cpu = {8000}, .memory = gibibytes(64)};
  for (const char* uuid : {"g0", "g1", "g2"}) {
    inventory.devices.push_back(Device{.id = {uuid}, .model = "h100-80gb", .emulated = true});
  }
  inventory.devices[2].health = DeviceHealth::dirty;
  inventory.warnings = {"no memory controller\n"};
  *view.mutable_node() = to_pb(Node{inventory, NodeState::ready, Instant{} + seconds(990)});
  view.add_held()->set_job("000000000001a");
  view.mutable_held(0)->set_device("g0");
  EXPECT_EQ(
      show_nodes(nodes, look),
      "NODE    STATE  SINCE  GPUS  FREE  MODEL                    CPU  MEMORY  JOBS\n"
      "node-1  ready  10s    3     1     3x h100-80gb (emulated)  8    64Gi    000000000001a\n"
      "warning: node-1: no memory controller\\n\n");
  EXPECT_THAT(show_nodes(nodes, {.now = look.now, .wide = true}), HasSubstr("dirty"));

  // Nothing is placed on a node that is not fit, or not heard.
  view.mutable_node()->mutable_inventory()->set_condition(v1::DISK_FULL);
  EXPECT_THAT(show_nodes(nodes, look), HasSubstr("node-1  disk_full  10s    3     -     3x"));
  view.mutable_node()->mutable_inventory()->set_condition(v1::FIT);
  v1::ForeignTask& foreign = *view.mutable_node()->add_foreign();
  foreign.set_job("000000000002b");
  foreign.set_attempt(3);
  foreign.set_token(77);
  EXPECT_THAT(show_nodes(nodes, look), HasSubstr("node-1  foreign_tasks  10s    3     -     3x"));
  EXPECT_THAT(show_nodes(nodes, look),
              HasSubstr("warning: node-1: task 0 of attempt 3 of job 000000000002b runs there, and "
                        "this control plane does not know of it (token 77); nothing is placed "
                        "beside it\n"));
  view.mutable_node()->set_state(v1::UNREACHABLE);
  EXPECT_THAT(show_nodes(nodes, look), HasSubstr("node-1  unreachable  10s    3     -     3x"));
}

}  // namespace
}  // namespace keel::cli
