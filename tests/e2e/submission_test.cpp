#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

constexpr int crowd = 100;

// The answers to the same submission, sent by that many at once. Those that got none, or a refusal
// that asks to try again, ask again.
std::vector<Json> submit_at_once(const Platform& platform, const Json& spec, bool again) {
  std::vector<Json> answers(crowd);
  std::vector<std::jthread> threads;
  const Request request{.method = "POST",
                        .target = "/v1/jobs",
                        .body = Json{{"spec", spec}, {"key", "the-key"}}.dump()};
  for (Json& answer : answers) {
    threads.emplace_back([&platform, &answer, &request, again] {
      const auto deadline = SteadyClock::now() + patience;
      do {
        const auto got = ask(platform.socket(), request);
        if (got) answer = got->json();
        if (got && got->status == 200) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } while (again && SteadyClock::now() < deadline);
    });
  }
  threads.clear();
  return answers;
}

TEST(Submission, sent_a_hundred_times_at_once_with_one_key_makes_one_job) {
  Platform platform;
  platform.start_keeld();
  const auto answers = submit_at_once(platform, platform.shell("true"), false);
  std::set<std::string> jobs;
  for (const Json& answer : answers) jobs.insert(answer.value("job", answer.dump()));
  EXPECT_EQ(jobs.size(), 1u) << *jobs.rbegin();
  EXPECT_EQ(std::ranges::count_if(answers, [](const Json& a) { return a["existing"] == false; }),
            1);
  EXPECT_EQ(platform.count_jobs(), 1u);
}

TEST(Submission, with_a_known_key_and_another_spec_is_refused_and_names_the_first_job) {
  Platform platform;
  platform.start_keeld();
  const std::string first = platform.submit(platform.shell("true"), "k");
  const Answer second =
      platform.post("/v1/jobs", {{"spec", platform.shell("false")}, {"key", "k"}});
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.json()["error"]["code"], "conflict");
  EXPECT_NE(second.body.find(first), std::string::npos) << second.body;
  EXPECT_EQ(platform.count_jobs(), 1u);
  EXPECT_EQ(platform.submitted(platform.shell("true"), "k")["existing"], true);
}

TEST(Submission, acknowledged_before_a_kill_of_keeld_is_there_afterwards_and_runs_once) {
  Platform platform;
  platform.start_keeld();
  const Json spec = platform.shell(note_start);
  const std::string job = platform.submit(spec, "k");
  platform.keeld().kill9();
  platform.start_keeld();
  EXPECT_EQ(platform.submitted(spec, "k"), (Json{{"job", job}, {"existing", true}}));
  platform.start_agent();
  EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
  EXPECT_EQ(lines_of(platform.note("starts")), std::vector<std::string>{"1 0"});
  EXPECT_EQ(platform.count_jobs(), 1u);
}

TEST(Submission, repeated_by_a_hundred_over_kills_of_keeld_makes_one_job_that_runs_once) {
  Dice dice;
  Platform platform;
  platform.start_keeld();
  const Json spec = platform.shell(note_start);
  std::vector<Json> answers;
  std::jthread callers([&] { answers = submit_at_once(platform, spec, true); });
  for (int kills = 0; kills < 3; ++kills) {
    dice.sleep_up_to_ms(150);
    platform.keeld().kill9();
    platform.start_keeld();
  }
  callers.join();
  std::set<std::string> jobs;
  for (const Json& answer : answers) jobs.insert(answer.value("job", answer.dump()));
  ASSERT_EQ(jobs.size(), 1u) << *jobs.rbegin();
  // The one caller whom it was told may have been cut off by a kill.
  EXPECT_LE(std::ranges::count_if(answers, [](const Json& a) { return a["existing"] == false; }),
            1);
  platform.start_agent();
  EXPECT_EQ(platform.await_end(*jobs.begin())["state"], "succeeded");
  EXPECT_EQ(lines_of(platform.note("starts")), std::vector<std::string>{"1 0"});
  EXPECT_EQ(platform.count_jobs(), 1u);
}

}  // namespace
}  // namespace keel::e2e
