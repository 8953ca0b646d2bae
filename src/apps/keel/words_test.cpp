#include "apps/keel/words.h"

#include <gmock/gmock.h>

#include <csignal>

#include "wire/convert.h"

namespace keel::cli {
namespace {

using testing::ElementsAre;

v1::Job failed_job(Reason reason, const Exit& exit) {
  Job job{.id = {1}, .state = JobState::failed};
  job.tasks = {Task{.node = {"a"}, .state = TaskState::settled, .exit = exit}};
  job.first_failed = 0;
  job.reason = reason;
  return to_pb(job);
}

TEST(Words, a_job_ends_with_the_code_a_shell_would_give) {
  struct Row {
    Reason reason;
    Exit exit;
    int code;
  };
  const std::vector<Row> rows{
      {Reason::program_failed, {.kind = ExitKind::exited, .code = 3, .text = {}}, 3},
      {Reason::program_failed, {.kind = ExitKind::signaled, .code = SIGSEGV, .text = {}}, 139},
      {Reason::program_failed, {.kind = ExitKind::exited, .code = 0, .text = {}}, 1},
      {Reason::time_limit_reached, {.kind = ExitKind::signaled, .code = SIGTERM, .text = {}}, 124},
      {Reason::program_not_started, {.kind = ExitKind::not_started, .text = {}}, 125},
      {Reason::node_lost, {.kind = ExitKind::lost, .text = {}}, 125},
      {Reason::retries_exhausted, {.kind = ExitKind::lost, .text = {}}, 125},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(exit_code_of(failed_job(row.reason, row.exit)), row.code) << print(row.reason);
  }
  v1::Job job;
  job.set_state(v1::SUCCEEDED);
  EXPECT_EQ(exit_code_of(job), 0);
  job.set_state(v1::CANCELED);
  EXPECT_EQ(exit_code_of(job), 130);
  job.set_state(v1::EXPIRED);
  EXPECT_EQ(exit_code_of(job), 125);
  job.set_state(v1::FAILED);
  EXPECT_EQ(exit_code_of(job), 125);
}

TEST(Words, ages_have_two_units) {
  EXPECT_EQ(age(Duration{}), "0s");
  EXPECT_EQ(age(milliseconds(999)), "0s");
  EXPECT_EQ(age(seconds(59)), "59s");
  EXPECT_EQ(age(seconds(252)), "4m12s");
  EXPECT_EQ(age(seconds(3600)), "1h");
  EXPECT_EQ(age(seconds(3605)), "1h");
  EXPECT_EQ(age(hours(76)), "3d4h");
  EXPECT_EQ(age(seconds(-5)), "0s");
  EXPECT_EQ(fine_age(milliseconds(350)), "350ms");
  EXPECT_EQ(fine_age(microseconds(10)), "1ms");
  EXPECT_EQ(fine_age(seconds(2)), "2s");
}

TEST(Words, sizes_for_people_have_one_decimal_and_never_promise_too_much) {
  EXPECT_EQ(about(gibibytes(64)), "64Gi");
  EXPECT_EQ(about(kibibytes(24'683'656)), "23.5Gi");
  EXPECT_EQ(about(mebibytes(1535)), "1.4Gi");
  EXPECT_EQ(about(Bytes{1023}), "1023");
  EXPECT_EQ(about(Bytes{}), "0");
  EXPECT_EQ(about(Bytes{INT64_MAX}), "8388607.9Ti");
}

TEST(Words, times_are_in_utc_where_machines_read_them) {
  EXPECT_EQ(utc_stamp(Instant{1'700'000'000'123'456}), "2023-11-14T22:13:20.123Z");
}

TEST(Words, a_fault_says_field_value_limit_and_help) {
  EXPECT_EQ(fault_line({"gang.tasks", "0", "1 to 4096", "The number is out of range."}),
            "gang.tasks: \"0\"; allowed: 1 to 4096. The number is out of range.");
  EXPECT_EQ(fault_line({"", "", "", "Try again."}), "Try again.");
  EXPECT_EQ(fault_line({"a\x1b", "\x1b]0;x\a", "", "Y\n."}), "a\\x1b: \"\\x1b]0;x\\x07\"; Y\\n.");
  v1::ApiError error;
  error.set_help("One.");
  error.add_also()->set_help("Two.");
  EXPECT_THAT(fault_lines(error), ElementsAre("One.", "Two."));
}

TEST(Words, output_on_a_terminal_is_tamed) {
  EXPECT_EQ(tamed("\x1b[31mred\x1b[0m\tend"), "red\tend");
  EXPECT_EQ(tamed("\x1b]0;title\x07text"), "text");
  EXPECT_EQ(tamed("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(tamed("\x1bP1;2|evil\x1b\\ok"), "ok");
  EXPECT_EQ(tamed("a\x1b(Bb\x1b"
                  "7c"),
            "abc");
  EXPECT_EQ(tamed("50%\r100%"), "50%\\r100%");
  EXPECT_EQ(tamed("\x1b"), "");
  EXPECT_EQ(tamed("\x1b["), "");
  EXPECT_EQ(tamed("\x1b]never ends"), "");
  EXPECT_EQ(tamed("\x1b\x1b[2Jx"), "x");
  EXPECT_EQ(tamed("\u009b2Jx \u202e \xff 漢"), "\\x9b2Jx \\u202e \\xff 漢");
}

}  // namespace
}  // namespace keel::cli
