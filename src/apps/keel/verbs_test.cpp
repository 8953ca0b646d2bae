// The commands against a control plane of the tests' own, over a real socket.
#include "apps/keel/verbs.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "adapters/client/fake_users.h"
#include "apps/keel/words.h"

namespace keel::cli {
namespace {

using fake::line;
using fake::refusal;
using fake::submitted_job;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class VerbsTest : public testing::Test {
 protected:
  VerbsTest() { std::ofstream(server_.directory() / "train") << "#!/bin/sh\n"; }

  Command command(Verb verb, std::vector<std::string> jobs = {}) {
    return Command{.verb = verb, .jobs = std::move(jobs)};
  }
  Command submission(Verb verb, const std::string& key = "") {
    return Command{.verb = verb, .said = {.words = {"./train", "a"}, .key = key}};
  }
  Surroundings here() const { return {.directory = server_.directory(), .path = "/bin"}; }

  // An attempt up to the end of its tasks.
  void attempt(std::uint64_t number, std::uint32_t tasks, const Exit& exit) {
    fake::FakeUsers& users = server_.users;
    const FencingToken token{number};
    Reserved reserved{
        .token = token, .claim_by = Instant{} + hours(1'000'000), .port = 1, .slots = {}};
    for (std::uint32_t i = 0; i < tasks; ++i) reserved.slots.push_back(Slot{{"node-1"}, {}});
    users.add(reserved, [&](v1::Job& job) { job.set_attempt(static_cast<std::uint32_t>(number)); });
    for (std::uint32_t i = 0; i < tasks; ++i) users.add(TaskPrepared{token, i});
    users.add(Launched{token});
    for (std::uint32_t i = 0; i < tasks; ++i) users.add(TaskStarted{token, i});
    users.add(Started{token});
    for (std::uint32_t i = 0; i < tasks; ++i) users.add(TaskEnded{token, i, exit});
    users.add(Ended{token});
    for (std::uint32_t i = 0; i < tasks; ++i) users.add(TaskSettled{token, i});
  }
  void lose_attempt(std::uint64_t number) {
    attempt(number, 1, {.kind = ExitKind::lost, .text = {}});
    server_.users.add(Requeued{Reason::node_lost, {}});
  }

  // The life of the job, up to and including its end.
  void live(std::uint32_t tasks, const Exit& exit) {
    server_.users.add(Admitted{});
    attempt(1, tasks, exit);
    end(exit);
  }
  void end(const Exit& exit) {
    fake::FakeUsers& users = server_.users;
    if (succeeded(exit)) {
      users.add(Succeeded{}, [](v1::Job& job) { job.set_state(v1::SUCCEEDED); });
      return;
    }
    users.add(Failed{Reason::program_failed}, [&](v1::Job& job) {
      job.set_state(v1::FAILED);
      job.set_reason("program_failed");
      job.set_first_failed(0);
      v1::Task& task = *job.add_tasks();
      task.set_state(v1::TASK_SETTLED);
      *task.mutable_exit() = to_pb(exit);
    });
  }

  fake::FakeServer server_;
  UsersClient client_{{.address = server_.address()}};
  std::ostringstream out_, err_;
  Session session_{.client = client_, .address = server_.address(), .out = out_, .err = err_};
};

TEST_F(VerbsTest, submit_takes_the_program_along_and_says_created) {
  submitted_job(server_.users, 1);
  EXPECT_EQ(submit(session_, submission(Verb::submit), here()), 0);
  EXPECT_EQ(out_.str(), "000000000001a created\n");
  ASSERT_THAT(server_.users.submitted, SizeIs(1));
  const v1::SubmitRequest& request = server_.users.submitted[0];
  EXPECT_EQ(request.spec().program(), "./train");
  EXPECT_EQ(server_.users.files[request.spec().files(0).digest()], "#!/bin/sh\n");
  EXPECT_NE(request.key(), "");
}

TEST_F(VerbsTest, the_same_key_again_is_said_to_exist) {
  submitted_job(server_.users, 1);
  EXPECT_EQ(submit(session_, submission(Verb::submit, "k"), here()), 0);
  EXPECT_EQ(submit(session_, submission(Verb::submit, "k"), here()), 0);
  EXPECT_EQ(out_.str(), "000000000001a created\n000000000001a existing\n");
}

TEST_F(VerbsTest, a_lost_answer_is_asked_for_again_with_the_same_key) {
  submitted_job(server_.users, 1);
  server_.users.submit_failures = {
      refusal(grpc::StatusCode::UNAVAILABLE, "unavailable", "", "The store did not answer."),
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut")};
  EXPECT_EQ(submit(session_, submission(Verb::submit), here()), 0);
  ASSERT_THAT(server_.users.submitted, SizeIs(3));
  EXPECT_EQ(server_.users.submitted[0].key(), server_.users.submitted[2].key());
}

TEST_F(VerbsTest, where_no_answer_comes_the_key_is_told_that_makes_no_second_job) {
  session_.submit_again_for = {};
  for (const std::string key : {"", "mine"}) {
    err_.str("");
    server_.users.submit_failures.assign(100, grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut"));
    EXPECT_EQ(submit(session_, submission(Verb::submit, key), here()), 1);
    const std::string sent = server_.users.submitted.back().key();
    EXPECT_THAT(err_.str(), HasSubstr("say --key " + sent + " as well"));
    EXPECT_TRUE(key.empty() || sent == key);
  }
}

TEST_F(VerbsTest, a_refusal_is_shown_with_field_and_help_and_not_repeated) {
  submitted_job(server_.users, 1);
  server_.users.submit_failures = {
      refusal(grpc::StatusCode::ALREADY_EXISTS, "conflict", "key", "It made job 0000000000007.")};
  EXPECT_EQ(submit(session_, submission(Verb::submit, "k"), here()), 1);
  EXPECT_EQ(err_.str(), "keel: key: It made job 0000000000007.\n");
  EXPECT_THAT(server_.users.submitted, SizeIs(1));
}

TEST_F(VerbsTest, nothing_is_sent_of_a_bad_submission) {
  Command bad = submission(Verb::submit);
  bad.said.words = {"./no-such"};
  EXPECT_EQ(submit(session_, bad, here()), 1);
  EXPECT_EQ(
      err_.str(),
      "keel: program: \"./no-such\"; allowed: a program that exists. There is no such file.\n");
  EXPECT_TRUE(server_.users.files.empty() && server_.users.submitted.empty());
}

TEST_F(VerbsTest, where_nobody_listens_one_line_says_which_socket) {
  server_.stop();
  EXPECT_EQ(nodes(session_, command(Verb::nodes)), 1);
  EXPECT_EQ(err_.str(), "keel: nobody answers at socket " + (server_.directory() / "s").string() +
                            ": start keeld, or name another with --socket or $KEEL_SOCKET\n");
}

TEST_F(VerbsTest, run_shows_states_and_output_and_ends_with_the_jobs_code) {
  submitted_job(server_.users, 2);
  server_.users.logs[0] = {line(1, "zero"), line(2, "more"), line(5, "late"),
                           line(6, "to err", true)};
  server_.users.logs[1] = {line(2, "one"), line(3, "par", false, true), line(4, "tial")};
  live(2, {.kind = ExitKind::exited, .code = 3, .text = {}});
  EXPECT_EQ(run(session_, submission(Verb::run), here()), 3);
  EXPECT_THAT(out_.str(), HasSubstr("[0] zero\n[0] more\n[1] one\n"));
  EXPECT_THAT(out_.str(), HasSubstr("[1] partial\n"));
  EXPECT_THAT(out_.str(), HasSubstr("[0] late\n"));
  EXPECT_THAT(err_.str(), HasSubstr("job 000000000001a created\n"));
  EXPECT_THAT(err_.str(), HasSubstr(" running: all tasks have started\n"));
  EXPECT_THAT(err_.str(), HasSubstr("[0] to err\n"));
  EXPECT_THAT(err_.str(), HasSubstr(" failed: program_failed, task 0: exit code 3\n"));
}

TEST_F(VerbsTest, run_ends_with_0_when_the_job_succeeds_later) {
  submitted_job(server_.users, 1);
  std::thread life([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    {
      std::lock_guard lock(server_.users.mutex);
      server_.users.logs[0] = {line(1, "hello \x1b[31m")};
    }
    live(1, {.kind = ExitKind::exited, .text = {}});
  });
  EXPECT_EQ(run(session_, submission(Verb::run), here()), 0);
  life.join();
  EXPECT_EQ(out_.str(), "hello \x1b[31m\n");
}

TEST_F(VerbsTest, output_is_tamed_on_a_terminal_only) {
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "\x1b[31mred")};
  live(1, {.kind = ExitKind::exited, .text = {}});
  session_.out_is_terminal = true;
  EXPECT_EQ(logs(session_, command(Verb::logs, {"last"})), 0);
  EXPECT_EQ(out_.str(), "red\n");
}

TEST_F(VerbsTest, following_survives_a_lost_connection_and_repeats_no_line) {
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "a"), line(2, "b"), line(3, "c"), line(4, "d"), line(5, "e")};
  live(1, {.kind = ExitKind::exited, .text = {}});
  server_.users.log_failures = {
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut"),
      refusal(grpc::StatusCode::UNAVAILABLE, "unavailable", "task", "The agent is not connected.")};
  Command follow = command(Verb::logs, {"last"});
  follow.follow = true;
  EXPECT_EQ(logs(session_, follow), 0);
  EXPECT_EQ(out_.str(), "a\nb\nc\nd\ne\n");
  EXPECT_THAT(err_.str(), HasSubstr("(keel goes on trying)"));
}

TEST_F(VerbsTest, following_survives_a_restart_of_the_control_plane) {
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "a")};
  std::thread restart([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_.stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    server_.users.logs[0].push_back(line(2, "b"));
    live(1, {.kind = ExitKind::exited, .text = {}});
    server_.start();
  });
  EXPECT_EQ(run(session_, submission(Verb::run), here()), 0);
  restart.join();
  EXPECT_EQ(out_.str(), "a\nb\n");
  EXPECT_THAT(err_.str(), HasSubstr("keel: going on\n"));
}

TEST_F(VerbsTest, run_goes_on_to_the_next_attempt_where_the_log_of_one_is_lost) {
  const Exit bad{.kind = ExitKind::exited, .code = 3, .text = {}};
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "second try")};
  server_.users.lost_logs[1] =
      refusal(grpc::StatusCode::NOT_FOUND, "not_found", "task", "Node n1 keeps no log of it.");
  server_.users.add(Admitted{});
  lose_attempt(1);
  std::thread life([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    attempt(2, 1, bad);
    end(bad);
  });
  EXPECT_EQ(run(session_, submission(Verb::run), here()), 3);
  life.join();
  EXPECT_EQ(out_.str(), "second try\n");
  EXPECT_THAT(err_.str(), HasSubstr("output of attempt 1 is lost: Node n1 keeps no log of it.\n"));
  EXPECT_THAT(err_.str(), HasSubstr(" queued: node_lost, to be tried again\n"));
  EXPECT_THAT(err_.str(), HasSubstr("output of attempt 2 follows\n"));
}

TEST_F(VerbsTest, run_goes_on_to_the_next_attempt_where_an_agent_is_gone_for_good) {
  const Exit good{.kind = ExitKind::exited, .text = {}};
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "second try")};
  server_.users.lost_logs[1] =
      refusal(grpc::StatusCode::UNAVAILABLE, "unavailable", "task", "The agent is not connected.");
  server_.users.add(Admitted{});
  lose_attempt(1);
  std::thread life([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    attempt(2, 1, good);
    end(good);
  });
  EXPECT_EQ(run(session_, submission(Verb::run), here()), 0);
  life.join();
  EXPECT_EQ(out_.str(), "second try\n");
  EXPECT_THAT(err_.str(), HasSubstr("the end of the output of attempt 1 could not be read; output "
                                    "of attempt 2 follows\n"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("keel: going on")));
}

TEST_F(VerbsTest, following_logs_tells_that_the_job_is_tried_again) {
  const Exit bad{.kind = ExitKind::exited, .code = 3, .text = {}};
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "second try")};
  server_.users.lost_logs[1] =
      refusal(grpc::StatusCode::NOT_FOUND, "not_found", "task", "Node n1 keeps no log of it.");
  server_.users.add(Admitted{});
  attempt(1, 1, bad);
  std::thread life([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    server_.users.add(Requeued{Reason::program_failed, {}});
    attempt(2, 1, bad);
    end(bad);
  });
  Command follow = command(Verb::logs, {"last"});
  follow.follow = true;
  EXPECT_EQ(logs(session_, follow), 0);
  life.join();
  EXPECT_EQ(out_.str(), "second try\n");
  EXPECT_THAT(err_.str(),
              HasSubstr("keel: the job is queued: program_failed, to be tried again\n"));
}

TEST_F(VerbsTest, a_log_that_cannot_be_read_leaves_the_jobs_code_alone) {
  submitted_job(server_.users, 1);
  live(1, {.kind = ExitKind::exited, .code = 3, .text = {}});
  Command follow = command(Verb::logs, {"last"});
  follow.follow = true;
  // Where only the output is asked for, what is lost is no fault of the request, but all else is.
  for (const auto& [code, code_of_logs] : {std::pair("not_found", 0), {"denied", 1}}) {
    SCOPED_TRACE(code);
    server_.users.lost_logs[1] = refusal(grpc::StatusCode::INTERNAL, code, "task", "No.");
    EXPECT_EQ(run(session_, submission(Verb::run), here()), 3);
    EXPECT_EQ(logs(session_, follow), code_of_logs);
    EXPECT_EQ(logs(session_, command(Verb::logs, {"last"})), 1);
  }
}

TEST_F(VerbsTest, the_log_of_one_task_is_lost_and_those_of_the_others_are_shown) {
  submitted_job(server_.users, 2);
  server_.users.logs[1] = {line(1, "a"), line(2, "b"), line(3, "c")};
  live(2, {.kind = ExitKind::exited, .text = {}});
  server_.users.log_failures = {
      refusal(grpc::StatusCode::NOT_FOUND, "not_found", "task", "Node n1 keeps no log of it.")};
  EXPECT_EQ(logs(session_, command(Verb::logs, {"last"})), 1);
  EXPECT_EQ(out_.str(), "[1] a\n[1] b\n[1] c\n");
  EXPECT_THAT(err_.str(), HasSubstr("Node n1 keeps no log of it."));
}

TEST_F(VerbsTest, logs_of_an_attempt_that_wrote_nothing_yet_say_so) {
  submitted_job(server_.users, 1);
  server_.users.add(Admitted{});
  lose_attempt(1);
  attempt(2, 1, {.kind = ExitKind::exited, .text = {}});
  EXPECT_EQ(logs(session_, command(Verb::logs, {"last"})), 0);
  EXPECT_EQ(err_.str(),
            "keel: attempt 2 of job 000000000001a has written nothing yet; -f waits for it\n");
}

TEST_F(VerbsTest, gaps_of_a_flood_are_told_once_and_counted) {
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1, "a"), line(2, "b"), line(3, "c"), line(4, "d"), line(5, "e")};
  server_.users.drops_lines = true;
  live(1, {.kind = ExitKind::exited, .text = {}});
  EXPECT_EQ(logs(session_, command(Verb::logs, {"last"})), 0);
  EXPECT_EQ(out_.str(), "a\nb\nc\nd\ne\n");
  EXPECT_EQ(err_.str(),
            "keel: older lines of task 0 were rotated away\n"
            "keel: lines of task 0 were rotated away in 3 places\n");
}

TEST_F(VerbsTest, logs_may_carry_times) {
  submitted_job(server_.users, 1);
  server_.users.logs[0] = {line(1'700'000'000'123'456, "a")};
  live(1, {.kind = ExitKind::exited, .text = {}});
  Command stamped = command(Verb::logs, {"last"});
  stamped.timestamps = true;
  EXPECT_EQ(logs(session_, stamped), 0);
  EXPECT_EQ(out_.str(), "2023-11-14T22:13:20.123Z a\n");
}

TEST_F(VerbsTest, wait_ends_with_the_jobs_code) {
  submitted_job(server_.users, 1);
  live(1, {.kind = ExitKind::signaled, .code = 9, .text = {}});
  EXPECT_EQ(wait(session_, command(Verb::wait, {"last"})), 137);
  Command running = command(Verb::wait, {"last"});
  running.until_state = "running";
  EXPECT_EQ(wait(session_, running), 0);
  running.until_state = "canceled";
  EXPECT_EQ(wait(session_, running), 1);
  EXPECT_THAT(err_.str(), HasSubstr("ended as failed and was never canceled"));
  running.until_state = "runing";
  EXPECT_EQ(wait(session_, running), 2);
}

TEST_F(VerbsTest, wait_needs_no_events_of_a_job_that_is_over) {
  submitted_job(server_.users, 1);
  live(1, {.kind = ExitKind::exited, .code = 3, .text = {}});
  server_.users.events.clear();
  Command patient = command(Verb::wait, {"last"});
  patient.timeout = "100ms";
  EXPECT_EQ(wait(session_, patient), 3);
}

TEST_F(VerbsTest, wait_gives_up_after_its_timeout) {
  submitted_job(server_.users, 1);
  Command patient = command(Verb::wait, {"last"});
  patient.timeout = "100ms";
  EXPECT_EQ(wait(session_, patient), 124);
  EXPECT_THAT(err_.str(), HasSubstr("is still accepted after 100ms"));
}

TEST_F(VerbsTest, cancel_says_what_each_job_is_now) {
  submitted_job(server_.users, 1);
  EXPECT_EQ(cancel(session_, command(Verb::cancel, {"last", "last"})), 0);
  EXPECT_EQ(out_.str(), "000000000001a canceled\n000000000001a canceled\n");
}

TEST_F(VerbsTest, events_are_the_timeline) {
  submitted_job(server_.users, 1);
  live(1, {.kind = ExitKind::exited, .text = {}});
  EXPECT_EQ(events(session_, command(Verb::events, {"last"})), 0);
  EXPECT_THAT(out_.str(), HasSubstr("launching  2s   all tasks are prepared\n"));
  EXPECT_THAT(out_.str(), HasSubstr("succeeded  -"));
}

TEST_F(VerbsTest, answers_can_be_had_as_json_and_yaml) {
  submitted_job(server_.users, 1);
  Command listing = command(Verb::jobs);
  listing.format = Format::json;
  EXPECT_EQ(jobs(session_, listing), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\"id\": \"000000000001a\""));
  Command job = command(Verb::describe, {"last"});
  job.format = Format::yaml;
  EXPECT_EQ(describe(session_, job), 0);
  EXPECT_THAT(out_.str(), HasSubstr("state: accepted"));
}

TEST_F(VerbsTest, a_job_that_does_not_exist_is_an_error) {
  submitted_job(server_.users, 1);
  EXPECT_EQ(describe(session_, command(Verb::describe, {"0000000000001"})), 1);
  EXPECT_EQ(err_.str(), "keel: job: There is no such job.\n");
  Command odd = command(Verb::jobs);
  odd.states = {"qeued"};
  EXPECT_EQ(jobs(session_, odd), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"queued\"?"));
}

}  // namespace
}  // namespace keel::cli
