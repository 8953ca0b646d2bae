#include "adapters/front/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "adapters/front/fakes.h"
#include "model/limits.h"

namespace keel {
namespace {

using fake::Service;
using ::testing::HasSubstr;

constexpr Caller ann{Caller::Door::local, 1001, 1001, false};
constexpr Caller bob{Caller::Door::local, 1002, 1002, false};
constexpr Caller root{Caller::Door::local, 0, 0, true};
constexpr Caller token{Caller::Door::token, 0, 0, true};

// What a call answers, or "nobody answered" after five seconds.
template <class Request, class Response>
Result<Response, pb::ApiError> answer_of(Front& front, const Caller& caller, const Request& request,
                                         void (Front::*method)(const Caller&, const Request&,
                                                               Reply<Response>)) {
  auto promise = std::make_shared<std::promise<Result<Response, pb::ApiError>>>();
  auto future = promise->get_future();
  (front.*method)(caller, request,
                  [promise](auto result) { promise->set_value(std::move(result)); });
  if (future.wait_for(std::chrono::seconds(5)) == std::future_status::ready) return future.get();
  pb::ApiError nobody;
  nobody.set_code("nobody answered");
  return nobody;
}

pb::SubmitRequest train(const std::string& key = "") {
  pb::SubmitRequest request;
  request.mutable_spec()->set_program("/bin/train");
  request.set_key(key);
  return request;
}

std::string submit(Service& service, const Caller& caller, const std::string& key = "") {
  auto submitted = answer_of(service.front, caller, train(key), &Front::submit);
  return submitted ? submitted->job() : "refused: " + submitted.error().code();
}

template <class Request>
Request about(const std::string& job) {
  Request request;
  request.set_job(job);
  return request;
}

TEST(Front, a_submission_belongs_to_its_caller) {
  Service service;
  std::string job = submit(service, ann);
  auto view = answer_of(service.front, ann, about<pb::GetJobRequest>(job), &Front::get_job);
  ASSERT_TRUE(view) << view.error().ShortDebugString();
  EXPECT_EQ(view->job().owner().uid(), 1001u);
  EXPECT_EQ(view->job().owner().user(), "uid-1001");
  EXPECT_EQ(view->spec().program(), "/bin/train");
  EXPECT_EQ(view->job().reason(), "no_free_gpus");
  EXPECT_EQ(view->reason_text(), describe(Reason::no_free_gpus));
}

TEST(Front, one_key_makes_one_job_and_refuses_another_spec_naming_the_first) {
  Service service;
  std::string job = submit(service, ann, "k");
  auto again = answer_of(service.front, ann, train("k"), &Front::submit);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job(), job);
  EXPECT_TRUE(again->existing());
  EXPECT_NE(submit(service, bob, "k"), job) << "keys are each caller's own";

  auto other = train("k");
  other.mutable_spec()->set_program("/bin/other");
  auto refused = answer_of(service.front, ann, other, &Front::submit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "conflict");
  EXPECT_THAT(refused.error().help(), HasSubstr(job));
}

TEST(Front, all_faults_of_a_spec_are_told_at_once) {
  Service service;
  pb::SubmitRequest request = train();
  request.mutable_spec()->mutable_gang()->set_tasks(0);
  request.mutable_spec()->set_memory("much");
  auto refused = answer_of(service.front, ann, request, &Front::submit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "invalid");
  ASSERT_EQ(refused.error().also_size(), 1);
  EXPECT_EQ(refused.error().field(), "gang.tasks");
  EXPECT_EQ(refused.error().also(0).field(), "memory");
  EXPECT_EQ(service.records.job_count(), 0u);
}

TEST(Front, a_bad_key_is_refused_with_its_limit) {
  Service service;
  for (const std::string& key :
       {std::string(limits::key_bytes_max + 1, 'x'), std::string("a b"), std::string("\xc3\xa4")}) {
    auto refused = answer_of(service.front, ann, train(key), &Front::submit);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().field(), "key");
    EXPECT_THAT(refused.error().limit(), HasSubstr("128"));
  }
  EXPECT_EQ(submit(service, ann, std::string(limits::key_bytes_max, 'x')).size(), 13u);
}

TEST(Front, a_taken_file_must_have_been_uploaded) {
  Service service;
  pb::SubmitRequest request = train();
  pb::TakenFile& file = *request.mutable_spec()->add_files();
  file.set_path("train.sh");
  file.set_digest(print(sha256("bytes")));
  auto refused = answer_of(service.front, ann, request, &Front::submit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field(), "files[0].digest");

  pb::PutFileRequest put;
  put.set_content("bytes");
  auto stored = answer_of(service.front, ann, put, &Front::put_file);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->digest(), file.digest());
  EXPECT_TRUE(answer_of(service.front, ann, request, &Front::submit));
}

TEST(Front, a_file_over_the_limit_or_without_room_is_refused) {
  Service service;
  pb::PutFileRequest put;
  put.set_content(std::string(limits::file_bytes_max + 1, 'x'));
  auto refused = answer_of(service.front, ann, put, &Front::put_file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "too_large");
  service.files.full = true;
  put.set_content("x");
  refused = answer_of(service.front, ann, put, &Front::put_file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "unavailable");
  EXPECT_THAT(refused.error().help(), HasSubstr("no room"));
}

TEST(Front, the_token_submits_for_the_configured_user_or_for_nobody) {
  Service with_user(Owner{"ops", 4242, 4242});
  std::string job = submit(with_user, token);
  auto view = answer_of(with_user.front, token, about<pb::GetJobRequest>(job), &Front::get_job);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->job().owner().user(), "ops");
  Service without(std::nullopt);
  EXPECT_EQ(submit(without, token), "refused: denied");
}

TEST(Front, last_is_the_callers_own_newest_job) {
  Service service;
  submit(service, ann);
  std::string newest = submit(service, ann);
  submit(service, bob);
  auto view = answer_of(service.front, ann, about<pb::GetJobRequest>("last"), &Front::get_job);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->job().id(), newest);
  auto none = answer_of(service.front, root, about<pb::GetJobRequest>("last"), &Front::get_job);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), "not_found");
}

TEST(Front, an_unknown_or_malformed_id_is_not_found_and_named) {
  Service service;
  for (const std::string& id : {std::string("0000000000zzz"), std::string(""), std::string("LAST"),
                                std::string("../../etc/passwd"), std::string(100'000, 'x')}) {
    auto refused = answer_of(service.front, ann, about<pb::GetJobRequest>(id), &Front::get_job);
    ASSERT_FALSE(refused) << id;
    EXPECT_EQ(refused.error().code(), "not_found");
    EXPECT_EQ(refused.error().value().substr(0, 13), id.substr(0, 13));
    EXPECT_LT(refused.error().value().size(), 100u);
  }
}

TEST(Front, only_the_owner_and_operators_may_cancel) {
  Service service;
  std::string job = submit(service, ann);
  auto denied = answer_of(service.front, bob, about<pb::CancelJobRequest>(job), &Front::cancel_job);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code(), "denied");
  for (const Caller& caller : {ann, root, token}) {
    auto canceled =
        answer_of(service.front, caller, about<pb::CancelJobRequest>(job), &Front::cancel_job);
    ASSERT_TRUE(canceled);
    EXPECT_EQ(canceled->state(), pb::CANCELED);
  }
}

TEST(Front, others_see_a_job_but_not_what_it_was_given) {
  Service service;
  pb::SubmitRequest request = train();
  request.mutable_spec()->add_args("--password=x");
  (*request.mutable_spec()->mutable_env())["SECRET"] = "x";
  auto submitted = answer_of(service.front, ann, request, &Front::submit);
  ASSERT_TRUE(submitted);
  auto get = about<pb::GetJobRequest>(submitted->job());
  auto own = answer_of(service.front, ann, get, &Front::get_job);
  auto foreign = answer_of(service.front, bob, get, &Front::get_job);
  ASSERT_TRUE(own);
  ASSERT_TRUE(foreign);
  EXPECT_EQ(own->spec().args_size(), 1);
  EXPECT_EQ(own->spec().env_size(), 1);
  EXPECT_EQ(foreign->spec().program(), "/bin/train");
  EXPECT_EQ(foreign->spec().args_size(), 0);
  EXPECT_EQ(foreign->spec().env_size(), 0);
}

TEST(Front, pages_of_jobs_join_without_gap_or_repetition) {
  Service service;
  std::vector<std::string> made;
  for (int i = 0; i < 7; ++i) made.insert(made.begin(), submit(service, ann));
  std::vector<std::string> seen;
  pb::ListJobsRequest request;
  request.set_limit(3);
  for (int pages = 1; true; ++pages) {
    auto page = answer_of(service.front, bob, request, &Front::list_jobs);
    ASSERT_TRUE(page);
    for (const auto& view : page->jobs()) seen.push_back(view.job().id());
    request.set_before(page->next());
    if (page->next().empty()) break;
    ASSERT_LT(pages, 5);
  }
  EXPECT_EQ(seen, made);
}

TEST(Front, a_page_of_huge_jobs_ends_early) {
  Service service;
  pb::SubmitRequest request = train();
  for (int i = 0; i < 2; ++i) request.mutable_spec()->add_args(std::string(100'000, 'x'));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(answer_of(service.front, ann, request, &Front::submit));
  auto page = answer_of(service.front, ann, pb::ListJobsRequest(), &Front::list_jobs);
  ASSERT_TRUE(page);
  EXPECT_LT(page->ByteSizeLong(), Front::page_bytes + 300'000);
  EXPECT_FALSE(page->next().empty());
}

TEST(Front, numbers_out_of_bounds_are_refused_with_the_bound) {
  Service service;
  std::string job = submit(service, ann);
  auto list = pb::ListJobsRequest();
  list.set_limit(1001);
  auto events = about<pb::ListEventsRequest>(job);
  events.set_wait_ms(-1);
  auto log = about<pb::ReadLogRequest>(job);
  log.set_task(1);
  auto a = answer_of(service.front, ann, list, &Front::list_jobs);
  auto b = answer_of(service.front, ann, events, &Front::list_events);
  auto c = answer_of(service.front, ann, log, &Front::read_log);
  ASSERT_FALSE(a);
  ASSERT_FALSE(b);
  ASSERT_FALSE(c);
  EXPECT_EQ(a.error().limit(), "0 to 1000");
  EXPECT_EQ(b.error().limit(), "0 to 30000");
  EXPECT_EQ(c.error().limit(), "0 to 0");
}

TEST(Front, a_store_that_is_down_is_unavailable_and_its_words_stay_inside) {
  Service service;
  std::string job = submit(service, ann);
  service.turns.store_down = true;
  EXPECT_EQ(submit(service, ann), "refused: unavailable");
  service.records.broken = true;
  auto refused = answer_of(service.front, ann, about<pb::GetJobRequest>(job), &Front::get_job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "unavailable");
  EXPECT_EQ(refused.error().ShortDebugString().find("secret"), std::string::npos);
}

TEST(Front, a_poll_for_events_wakes_with_the_event_and_not_before) {
  Service service;
  std::string job = submit(service, ann);
  auto request = about<pb::ListEventsRequest>(job);
  auto first = answer_of(service.front, ann, request, &Front::list_events);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->events_size(), 1);
  request.set_after(first->next());
  request.set_wait_ms(30'000);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    service.turns.change(*parse_job_id(job), Admitted{});
  });
  auto began = std::chrono::steady_clock::now();
  auto woken = answer_of(service.front, ann, request, &Front::list_events);
  later.join();
  ASSERT_TRUE(woken) << woken.error().code();
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(40));
  ASSERT_EQ(woken->events_size(), 1);
  EXPECT_TRUE(woken->events(0).has_admitted());
}

TEST(Front, a_poll_for_events_ends_empty_at_its_deadline) {
  Service service;
  auto request = about<pb::ListEventsRequest>(submit(service, ann));
  request.set_after(1);
  request.set_wait_ms(30);
  auto empty = answer_of(service.front, ann, request, &Front::list_events);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->events_size(), 0);
  EXPECT_EQ(empty->next(), 1u);
  EXPECT_EQ(empty->state(), pb::QUEUED);
}

TEST(Front, of_events_that_are_no_longer_kept_it_is_said_where_the_log_begins) {
  Service service;
  std::string job = submit(service, ann);
  service.records.cut = Seq{41};
  auto request = about<pb::ListEventsRequest>(job);
  request.set_after(7);
  request.set_wait_ms(30'000);
  auto refused = answer_of(service.front, ann, request, &Front::list_events);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "not_found");
  EXPECT_EQ(refused.error().field(), "after");
  EXPECT_EQ(refused.error().value(), "7");
  EXPECT_NE(refused.error().help().find("begins at event 42"), std::string::npos);
  EXPECT_EQ(refused.error().ShortDebugString().find("secret"), std::string::npos);
}

Task on(const std::string& node, TaskState state) {
  Task task;
  task.node = NodeId{node};
  task.state = state;
  return task;
}

TEST(Front, a_log_is_asked_of_the_node_that_ran_the_attempt) {
  Service service;
  std::string job = submit(service, ann);
  JobId id = *parse_job_id(job);
  service.turns.change(id, Reserved{FencingToken{1}, {}, 0, {{NodeId{"old"}, {}}}},
                       [](Job& row) { row.attempt = AttemptNo{1}; });
  service.turns.change(id, Reserved{FencingToken{2}, {}, 0, {{NodeId{"new"}, {}}}}, [](Job& row) {
    row.attempt = AttemptNo{2};
    row.tasks = {on("new", TaskState::running)};
  });
  service.scripted_logs.set([](const LogQuestion& question) {
    pb::ReadLogResponse log;
    log.set_next(question.key.attempt.value);
    return std::optional(log);
  });
  auto request = about<pb::ReadLogRequest>(job);
  auto latest = answer_of(service.front, ann, request, &Front::read_log);
  request.set_attempt(1);
  auto first = answer_of(service.front, ann, request, &Front::read_log);
  ASSERT_TRUE(latest);
  ASSERT_TRUE(first);
  EXPECT_EQ(latest->next(), 2);
  EXPECT_EQ(first->next(), 1);
  EXPECT_EQ(service.scripted_logs.asked_nodes(), (std::vector{NodeId{"new"}, NodeId{"old"}}));
  request.set_attempt(3);
  EXPECT_FALSE(answer_of(service.front, ann, request, &Front::read_log));
  auto foreign = answer_of(service.front, bob, about<pb::ReadLogRequest>(job), &Front::read_log);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code(), "denied");
}

TEST(Front, a_log_that_is_not_there_yet_is_waited_for) {
  Service service;
  std::string job = submit(service, ann);
  auto request = about<pb::ReadLogRequest>(job);
  auto nothing = answer_of(service.front, ann, request, &Front::read_log);
  ASSERT_TRUE(nothing) << "a queued job has no log, and that is no error";
  EXPECT_FALSE(nothing->end());
  int asked = 0;
  service.scripted_logs.set([&](const LogQuestion&) -> std::optional<pb::ReadLogResponse> {
    if (++asked < 2) return std::nullopt;
    pb::ReadLogResponse log;
    log.add_lines()->set_text("hello");
    return log;
  });
  request.set_wait_ms(30'000);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    service.turns.change(*parse_job_id(job), Admitted{}, [](Job& row) {
      row.state = JobState::running;
      row.attempt = AttemptNo{1};
      row.tasks = {on("n", TaskState::running)};
    });
  });
  auto log = answer_of(service.front, ann, request, &Front::read_log);
  later.join();
  ASSERT_TRUE(log) << log.error().ShortDebugString();
  ASSERT_EQ(log->lines_size(), 1);
}

TEST(Front, a_node_that_is_away_is_named) {
  Service service;
  std::string job = submit(service, ann);
  service.turns.change(*parse_job_id(job), Admitted{}, [](Job& row) {
    row.attempt = AttemptNo{1};
    row.tasks = {on("lost-node", TaskState::running)};
  });
  auto refused = answer_of(service.front, ann, about<pb::ReadLogRequest>(job), &Front::read_log);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "unavailable");
  EXPECT_EQ(refused.error().field(), "task");
  EXPECT_EQ(refused.error().value(), "0");
  EXPECT_THAT(refused.error().help(), HasSubstr("lost-node"));
}

TEST(Front, a_log_that_its_node_does_not_keep_is_named_by_task_and_attempt) {
  Service service;
  std::string job = submit(service, ann);
  service.turns.change(*parse_job_id(job), Admitted{}, [](Job& row) {
    row.attempt = AttemptNo{2};
    row.tasks = {on("n1", TaskState::ended)};
  });
  service.scripted_logs.set(
      [](const LogQuestion&) { return std::optional<pb::ReadLogResponse>(); });
  auto refused = answer_of(service.front, ann, about<pb::ReadLogRequest>(job), &Front::read_log);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), "not_found");
  EXPECT_EQ(refused.error().field(), "task");
  EXPECT_EQ(refused.error().value(), "0");
  EXPECT_EQ(refused.error().help(), "Node n1 keeps no log of its attempt 2.");
}

TEST(Front, nodes_show_what_is_on_them_and_tasks_their_emulated_models) {
  Service service;
  Device gpu{DeviceId{"GPU-1"}, "h100-80gb", gibibytes(80), DeviceHealth::healthy, true};
  Node node{{NodeId{"n"}, "agent", "boot", "10.0.0.1", {8000}, gibibytes(64), {gpu}, {}}, {}, {}};
  std::string job = submit(service, ann);
  TaskKey key{*parse_job_id(job), AttemptNo{1}, 0};
  service.records.set_fleet({node}, {{gpu.id, key, FencingToken{9}}});
  auto nodes = answer_of(service.front, bob, pb::ListNodesRequest(), &Front::list_nodes);
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->nodes_size(), 1);
  ASSERT_EQ(nodes->nodes(0).held_size(), 1);
  EXPECT_EQ(nodes->nodes(0).held(0).job(), job);

  service.turns.change(key.job, Admitted{}, [&](Job& row) {
    row.tasks = {on("n", TaskState::running)};
    row.tasks[0].devices = {gpu.id};
  });
  auto view = answer_of(service.front, ann, about<pb::GetJobRequest>(job), &Front::get_job);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->gpu_models_size(), 1);
  EXPECT_EQ(view->gpu_models(0), "emulated:h100-80gb");
}

TEST(Front, when_too_many_wait_a_submission_is_busy) {
  Service service;
  service.turns.paused = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (std::size_t i = 0; i < Inbox::requests_max; ++i) {
    service.front.submit(ann, train(), [](auto) {});
  }
  EXPECT_EQ(submit(service, ann), "refused: busy");
  service.turns.paused = false;
}

TEST(Front, every_error_code_has_a_word_that_leads_back_to_it) {
  for (std::size_t n = 0; n < error_code_count; ++n) {
    auto code = static_cast<ErrorCode>(n);
    EXPECT_EQ(code_of(refuse(code, {})), code) << print(code);
  }
}

}  // namespace
}  // namespace keel
