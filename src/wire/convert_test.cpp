#include "wire/convert.h"

#include <gmock/gmock.h>

#include "tests/values/generator.h"
#include "wire/spec.h"

namespace keel {
namespace {

using testing::HasSubstr;

constexpr int rounds = 300;

// Through the bytes too: what protobuf will not read back would be lost in the store.
template <class Message>
Message through_bytes(const Message& message) {
  Message read;
  EXPECT_TRUE(read.ParseFromString(message.SerializeAsString()));
  return read;
}

template <class Made>
void expect_round_trip(const Made& value) {
  const auto back = from_pb(through_bytes(to_pb(value)));
  ASSERT_TRUE(back.has_value()) << back.error().what;
  EXPECT_EQ(*back, value);
}

template <class Value>
void expect_refusal(const Result<Value, BadBytes>& result, const std::string& field) {
  ASSERT_FALSE(result.has_value()) << field;
  EXPECT_THAT(result.error().what, HasSubstr(field + ": "));
}

TEST(Convert, a_job_comes_back_as_it_was) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) expect_round_trip(make.job());
}

TEST(Convert, nodes_and_exits_come_back_as_they_were) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) {
    expect_round_trip(make.node());
    expect_round_trip(make.inventory());
    expect_round_trip(make.exit());
    const Owner owner = make.owner();
    EXPECT_EQ(from_pb(through_bytes(to_pb(owner))), owner);
  }
}

TEST(Convert, every_event_comes_back_as_it_was) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) {
    const std::size_t kind = static_cast<std::size_t>(i) % std::variant_size_v<JobEvent>;
    const JobFact fact{JobId{make.number()}, make.job_event(kind)};
    ASSERT_EQ(fact.event.index(), kind) << "the generator makes each kind";
    expect_round_trip(StoredEvent{Seq{make.number()}, make.instant(), fact});
  }
  for (const NodeEvent& event :
       {NodeEvent{NodeReported{make.inventory()}}, NodeEvent{NodeSilenced{}},
        NodeEvent{NodeHeard{}}, NodeEvent{ForeignSeen{make.foreign()}}}) {
    expect_round_trip(StoredEvent{Seq{1}, make.instant(), NodeFact{{make.word()}, event}});
  }
}

TEST(Convert, a_report_comes_back_as_it_was) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) expect_round_trip(make.report());
}

TEST(Convert, a_normalised_spec_comes_back_as_it_was) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) {
    const JobSpec spec = make.spec();
    const auto back = normalised_from_pb(through_bytes(to_pb(spec)));
    ASSERT_TRUE(back.has_value()) << back.error().what;
    EXPECT_EQ(*back, spec);
  }
}

TEST(Convert, every_duty_comes_back_as_it_was) {
  Generator make(seed_for_test());
  for (int i = 0; i < rounds; ++i) {
    const std::size_t kind = static_cast<std::size_t>(i) % std::variant_size_v<DutyKind>;
    const JobSpec spec = make.spec();
    const Duty duty{
        {"node-1"}, make.task_key(), {make.number()}, make.duty(kind, spec_digest(spec))};
    const Epoch epoch{make.number()};
    const ReportNo answers{make.number()};
    const auto back =
        duty_from_pb(through_bytes(to_pb(duty, epoch, answers, &spec)), NodeId{"node-1"});
    ASSERT_TRUE(back.has_value()) << back.error().what;
    EXPECT_EQ(back->duty, duty);
    EXPECT_EQ(back->epoch, epoch);
    EXPECT_EQ(back->answers, answers);
    EXPECT_EQ(back->spec, kind == 0 ? std::optional(spec) : std::nullopt);
  }
}

TEST(Convert, every_enumerator_keeps_its_name) {
  for (std::size_t i = 0; i < job_state_count; ++i) {
    const auto state = static_cast<JobState>(i);
    std::string name = pb::JobState_Name(to_pb(state));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(name, print(state));
    EXPECT_EQ(*from_pb(to_pb(state)), state);
  }
  EXPECT_EQ(to_pb(StopCause::sibling_failed), pb::BY_SIBLING);
  EXPECT_EQ(to_pb(StopCause::superseded), pb::BY_SUCCESSOR);
  EXPECT_EQ(to_pb(TaskPhase::refused), pb::PHASE_REFUSED);
  EXPECT_EQ(to_pb(Exit{.kind = ExitKind::lost, .text = {}}).kind(), pb::LOST);
  for (std::size_t i = 0; i < reason_count; ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_EQ(parse_reason(print(reason)), reason);
  }
  EXPECT_EQ(parse_reason("no_such_reason"), std::nullopt);
}

TEST(Convert, an_unknown_number_is_refused_by_its_field) {
  Generator make(seed_for_test());
  pb::Job job = to_pb(make.job());
  job.set_state(static_cast<pb::JobState>(99));
  expect_refusal(from_pb(job), "Job.state");
  job.set_state(pb::JOB_STATE_UNSPECIFIED);
  expect_refusal(from_pb(job), "Job.state");
  job.set_state(pb::QUEUED);
  job.set_reason("no_such_reason");
  expect_refusal(from_pb(job), "Job.reason");

  pb::Exit exit = to_pb(Exit{});
  exit.clear_kind();
  expect_refusal(from_pb(exit), "Exit.kind");
  exit = to_pb(Exit{});
  exit.set_cause(pb::STOP_CAUSE_UNSPECIFIED);
  expect_refusal(from_pb(exit), "Exit.cause");
  expect_refusal(from_pb(static_cast<pb::JobState>(-1)), "JobState");
  expect_refusal(from_pb(static_cast<pb::StopCause>(8)), "StopCause");
}

TEST(Convert, a_bad_id_is_refused_by_its_field) {
  Generator make(seed_for_test());
  pb::Job job = to_pb(make.job());
  job.set_id("7");
  expect_refusal(from_pb(job), "Job.id");
  job = to_pb(make.job());
  job.set_said("short");
  expect_refusal(from_pb(job), "Job.said");
  job = to_pb(make.job());
  job.set_state(pb::QUEUED);
  job.add_tasks()->set_state(pb::TASK_RESERVED);
  expect_refusal(from_pb(job), "Task.node");

  pb::NodeInventory inventory;
  inventory.set_name("a\x1b[31m");
  expect_refusal(from_pb(inventory), "NodeInventory.name");
  inventory.set_name("a");
  inventory.add_devices()->set_health(pb::HEALTHY);
  expect_refusal(from_pb(inventory), "Device.uuid");
}

TEST(Convert, a_value_out_of_range_is_refused_by_its_field) {
  Generator make(seed_for_test());
  pb::Job job = to_pb(make.job());
  job.set_time_limit_us(-1);
  expect_refusal(from_pb(job), "Job.time_limit_us");
  job = to_pb(make.job());
  job.mutable_shape()->set_memory_bytes_per_task(-1);
  expect_refusal(from_pb(job), "Job.shape.memory_bytes_per_task");
  job = to_pb(make.job());
  *job.add_tasks() = to_pb([&] {
                       Job one = make.job();
                       one.first_failed.reset();
                       one.tasks = {make.task()};
                       return one;
                     }())
                         .tasks(0);
  job.mutable_tasks(job.tasks_size() - 1)->set_port(65'536);
  expect_refusal(from_pb(job), "Task.port");
  job = to_pb(make.job());
  job.set_first_failed(1000);
  expect_refusal(from_pb(job), "Job.first_failed");

  pb::NodeInventory inventory;
  inventory.set_name("a");
  inventory.set_memory_bytes(-1);
  expect_refusal(from_pb(inventory), "NodeInventory.memory_bytes");
  inventory.set_memory_bytes(1);
  inventory.set_cpu_millicores(-5);
  expect_refusal(from_pb(inventory), "NodeInventory.cpu_millicores");
}

TEST(Convert, an_event_of_the_wrong_subject_is_refused) {
  pb::Event event;
  expect_refusal(from_pb(event), "Event.subject");
  event.set_job(print(JobId{1}));
  expect_refusal(from_pb(event), "Event.event");
  event.mutable_node_heard();
  expect_refusal(from_pb(event), "Event.event");
  event.set_node("a");
  EXPECT_TRUE(from_pb(event).has_value());
  event.mutable_canceled();
  expect_refusal(from_pb(event), "Event.event");
  event.set_job(print(JobId{1}));
  event.mutable_task_ended();
  expect_refusal(from_pb(event), "TaskEnded.exit");
}

TEST(Convert, a_normalised_spec_with_a_field_missing_is_refused_by_its_name) {
  Generator make(seed_for_test());
  const pb::JobSpec whole = to_pb(make.spec());
  const auto refused = [&](auto clear, const std::string& field) {
    pb::JobSpec spec = whole;
    clear(spec);
    expect_refusal(normalised_from_pb(spec), field);
  };
  refused([](auto& s) { s.clear_name(); }, "JobSpec.name");
  refused([](auto& s) { s.clear_program(); }, "JobSpec.program");
  refused([](auto& s) { s.clear_gang(); }, "JobSpec.gang");
  refused([](auto& s) { s.mutable_gang()->clear_tasks(); }, "JobSpec.gang.tasks");
  refused([](auto& s) { s.mutable_gang()->clear_gpus_per_task(); }, "JobSpec.gang.gpus_per_task");
  refused([](auto& s) { s.mutable_gang()->clear_gpu_model(); }, "JobSpec.gang.gpu_model");
  refused([](auto& s) { s.clear_time_limit(); }, "JobSpec.time_limit");
  refused([](auto& s) { s.clear_grace(); }, "JobSpec.grace");
  refused([](auto& s) { s.clear_stop_signal(); }, "JobSpec.stop_signal");
  refused([](auto& s) { s.clear_retries(); }, "JobSpec.retries");
  refused([](auto& s) { s.set_retries(-1); }, "JobSpec.retries");
  refused([](auto& s) { s.set_memory("-1"); }, "JobSpec.memory");
  refused([](auto& s) { s.set_cpu("x"); }, "JobSpec.cpu");
  refused([](auto& s) { s.mutable_gang()->set_tasks(std::int64_t{1} << 32); },
          "JobSpec.gang.tasks");
  refused([](auto& s) { s.add_files()->set_path("../x"); }, "JobSpec.files.path");
}

TEST(Convert, quantities_of_a_normalised_spec_are_canonical) {
  Generator make(seed_for_test());
  JobSpec spec = make.spec();
  spec.cpu_per_task = Millicores{4000};
  spec.memory_per_task = gibibytes(16);
  spec.time_limit = minutes(90);
  spec.grace = milliseconds(1500);
  const pb::JobSpec sent = to_pb(spec);
  EXPECT_EQ(sent.cpu(), "4");
  EXPECT_EQ(sent.memory(), "16Gi");
  EXPECT_EQ(sent.time_limit(), "1h30m");
  EXPECT_EQ(sent.grace(), "1s500ms");
}

TEST(Convert, text_of_the_operating_system_is_made_readable_and_cut) {
  const pb::Exit exit =
      to_pb(Exit{.kind = ExitKind::not_started, .clean = true, .text = "no \xff file"});
  EXPECT_EQ(through_bytes(exit).text(), "no \uFFFD file");
  const std::string snowmen = "x" + std::string(255, ' ') + "☃";
  EXPECT_EQ(to_pb(Exit{.text = snowmen}).text().size(), 256u);
  pb::Exit longer = exit;
  longer.set_text(std::string(257, 'x'));
  expect_refusal(from_pb(longer), "Exit.text");
}

TEST(Convert, what_an_agent_says_twice_is_refused_and_its_order_does_not_matter) {
  Generator make(seed_for_test());
  pb::Report report = to_pb(Report{{1}, true, {}, {}});
  for (const std::uint32_t task : {2u, 1u}) {
    pb::TaskReport& next = *report.add_tasks();
    next.set_job(print(JobId{5}));
    next.set_task(task);
    next.set_phase(pb::PHASE_RUNNING);
  }
  EXPECT_EQ(from_pb(report)->tasks.front().key.task, 1u);
  report.mutable_tasks(1)->set_task(2);
  expect_refusal(from_pb(report), "Report.tasks");
  report.mutable_tasks(1)->set_task(1);
  pb::NodeInventory& inventory = *report.mutable_inventory();
  inventory.set_name("a");
  for (const char* uuid : {"gpu-2", "gpu-1"}) {
    inventory.add_devices()->set_uuid(uuid);
    inventory.mutable_devices(inventory.devices_size() - 1)->set_health(pb::HEALTHY);
  }
  EXPECT_EQ(from_pb(report)->inventory->devices.front().id, DeviceId{"gpu-1"});
  inventory.mutable_devices(1)->set_uuid("gpu-2");
  expect_refusal(from_pb(report), "NodeInventory.devices");
  report.clear_inventory();
  report.mutable_tasks(1)->set_phase(pb::PHASE_ENDED);
  expect_refusal(from_pb(report), "TaskReport.exit");
}

TEST(Convert, a_message_that_is_no_duty_is_refused) {
  pb::ServerMessage message;
  expect_refusal(duty_from_pb(message, NodeId{"a"}), "ServerMessage.message");
  message.mutable_ack();
  expect_refusal(duty_from_pb(message, NodeId{"a"}), "ServerMessage.message");
  message.mutable_start();
  expect_refusal(duty_from_pb(message, NodeId{"a"}), "TaskRef.job");
  message.mutable_prepare()->mutable_ref()->set_job(print(JobId{1}));
  expect_refusal(duty_from_pb(message, NodeId{"a"}), "Prepare.spec");
}

}  // namespace
}  // namespace keel
