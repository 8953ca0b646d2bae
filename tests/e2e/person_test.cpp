// Whose a job is, and as whom it runs. All of it takes root: nobody else can become another person.
#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// "UID GID GROUPS", as `id` says it.
const std::string tell_who = "echo $(id -u) $(id -g) $(id -G)\nid -un\n";

std::vector<std::string> who_is(const std::string& user) {
  const passwd* person = ::getpwnam(user.c_str());
  if (person == nullptr) return {"no such user"};
  std::vector<gid_t> groups(100);
  int count = static_cast<int>(groups.size());
  ::getgrouplist(user.c_str(), person->pw_gid, groups.data(), &count);
  groups.resize(static_cast<std::size_t>(count));
  std::string line = std::to_string(person->pw_uid) + " " + std::to_string(person->pw_gid);
  for (const gid_t group : groups) line += " " + std::to_string(group);
  return {line, user};
}

Request submission(const Json& spec) {
  return {.method = "POST", .target = "/v1/jobs", .body = Json{{"spec", spec}}.dump()};
}

Request cancellation(const std::string& job) {
  return {.method = "POST", .target = "/v1/jobs/" + job + ":cancel", .body = "{}"};
}

std::string submit_as(const Platform& platform, const std::string& user, const Json& spec) {
  const auto answer = ask_as(user, platform.socket(), submission(spec));
  if (!answer || answer->status != 200) {
    throw TooLate("a job of " + user + ": " + (answer ? answer->body : "no answer"));
  }
  return answer->json()["job"];
}

TEST(Person, submits_a_job_that_runs_as_that_person_with_their_groups_and_never_as_root) {
  ASSERT_EQ(::geteuid(), 0u) << "this test takes root: it becomes other users";
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  for (const std::string user : {"daemon", "nobody", "root"}) {
    const std::string job = submit_as(platform, user, platform.gang(tell_who, 2, 1));
    EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
    EXPECT_EQ(platform.job(job)["owner"]["user"], user);
    EXPECT_EQ(platform.log(job, 0), who_is(user));
    EXPECT_EQ(platform.log(job, 1), who_is(user));
  }
}

TEST(Person, cannot_become_root_by_what_a_spec_says) {
  ASSERT_EQ(::geteuid(), 0u) << "this test takes root: it becomes other users";
  Platform platform;
  platform.start_keeld();
  Json spec = platform.shell(tell_who);
  for (const std::string field : {"owner", "user", "uid"}) {
    Json more = spec;
    more[field] = 0;
    const auto answer = ask_as("daemon", platform.socket(), submission(more));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 400) << answer->body;
  }
  EXPECT_EQ(platform.count_jobs(), 0u);
}

TEST(Person, can_cancel_their_own_jobs_only_and_root_everybodys) {
  ASSERT_EQ(::geteuid(), 0u) << "this test takes root: it becomes other users";
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json spec = platform.shell("sleep 1000");
  spec["env"]["PASSWORD"] = "secret-word";
  const std::string one = submit_as(platform, "daemon", spec);
  const std::string other = submit_as(platform, "daemon", spec);
  platform.await_state(one, "running");
  platform.await_state(other, "running");

  const auto denied = ask_as("nobody", platform.socket(), cancellation(one));
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->status, 403) << denied->body;
  EXPECT_EQ(platform.state(one), "running");
  const auto seen = ask_as("nobody", platform.socket(), {.target = "/v1/jobs/" + one});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->body.find("secret-word"), std::string::npos) << "a stranger sees the environment";
  const auto log =
      ask_as("nobody", platform.socket(), {.target = "/v1/jobs/" + one + "/logs?task=0"});
  ASSERT_TRUE(log);
  EXPECT_EQ(log->status, 403) << log->body;

  EXPECT_EQ(platform.cancel(one), "canceled");  // by root
  const auto own = ask_as("daemon", platform.socket(), cancellation(other));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->json()["state"], "canceled") << own->body;
  platform.await_nobody_left();
}

TEST(Person, of_another_name_may_use_the_same_key) {
  ASSERT_EQ(::geteuid(), 0u) << "this test takes root: it becomes other users";
  Platform platform;
  platform.start_keeld();
  const Request request{.method = "POST",
                        .target = "/v1/jobs",
                        .body = Json{{"spec", platform.shell("true")}, {"key", "k"}}.dump()};
  const auto one = ask_as("daemon", platform.socket(), request);
  const auto other = ask_as("nobody", platform.socket(), request);
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->json()["existing"], false);
  EXPECT_EQ(other->json()["existing"], false) << other->body;
  EXPECT_EQ(platform.count_jobs(), 2u);
}

TEST(Person, with_the_operator_token_submits_by_tcp_and_nobody_without_it_or_from_a_web_page) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Request request = submission(platform.shell(tell_who));
  const auto stranger = ask(platform.http(), request);
  ASSERT_TRUE(stranger);
  EXPECT_EQ(stranger->status, 401) << stranger->body;
  request.headers.push_back("Authorization: Bearer " + platform.token());
  for (const std::string header : {"Host: evil.example", "Origin: http://evil.example"}) {
    Request page = request;
    page.headers.push_back(header);
    page.says_host = !header.starts_with("Host");
    const auto refused = ask(platform.http(), page);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status / 100, 4) << header << ": " << refused->body;
  }
  EXPECT_EQ(platform.count_jobs(), 0u);
  const auto answer = ask(platform.http(), request);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->status, 200) << answer->body;
  const std::string job = answer->json()["job"];
  EXPECT_EQ(platform.await_end(job)["state"], "succeeded");
  EXPECT_EQ(platform.log(job), who_is("nobody"));
}

}  // namespace
}  // namespace keel::e2e
