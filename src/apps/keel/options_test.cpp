#include <gmock/gmock.h>

#include <sstream>

#include "apps/keel/command.h"
#include "apps/keel/verbs.h"
#include "apps/keel/words.h"

namespace keel::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Command parsed(const std::vector<std::string>& arguments) {
  const auto command = parse_command(arguments);
  EXPECT_TRUE(command.has_value()) << command.error().text;
  return command.value_or(Command{});
}

Farewell refused(const std::vector<std::string>& arguments) {
  const auto command = parse_command(arguments);
  EXPECT_FALSE(command.has_value());
  return command ? Farewell{} : command.error();
}

TEST(Options, what_stands_behind_the_dashes_is_the_jobs) {
  const Command command = parsed({"submit", "--gpus", "2", "--env", "A=1", "--env", "B", "--",
                                  "./train", "--gpus", "jobs", "-h", "--", "-x"});
  EXPECT_EQ(command.verb, Verb::submit);
  EXPECT_THAT(command.said.words, ElementsAre("./train", "--gpus", "jobs", "-h", "--", "-x"));
  EXPECT_THAT(command.said.fields, ElementsAre(Pair("gang.gpus_per_task", "2")));
  EXPECT_THAT(command.said.env, ElementsAre("A=1", "B"));
}

TEST(Options, values_are_taken_as_they_are) {
  const Command command =
      parsed({"submit", "--tasks", "-1", "--cpu=0.5", "--name", "", "--key", "k", "-f", "-"});
  EXPECT_THAT(command.said.fields,
              ElementsAre(Pair("name", ""), Pair("gang.tasks", "-1"), Pair("cpu", "0.5")));
  EXPECT_EQ(command.said.file, "-");
  EXPECT_EQ(command.said.key, "k");
}

TEST(Options, an_empty_key_is_no_key) {
  const auto no = refused({"submit", "--key", "", "--", "true"});
  EXPECT_EQ(no.code, exit_usage);
  EXPECT_THAT(no.text, HasSubstr("--key"));
}

TEST(Options, where_the_control_plane_is_may_stand_before_or_behind_the_verb) {
  EXPECT_EQ(parsed({"--socket", "/s", "nodes"}).where.socket, "/s");
  EXPECT_EQ(parsed({"nodes", "--socket", "/s"}).where.socket, "/s");
  EXPECT_EQ(refused({"--socket", "/s", "--server", "x:1", "nodes"}).code, exit_usage);
}

TEST(Options, each_verb_takes_what_is_its_own) {
  const Command logs =
      parsed({"logs", "-f", "last", "--task", "3", "--attempt", "2", "--timestamps"});
  EXPECT_TRUE(logs.follow && logs.timestamps);
  EXPECT_EQ(logs.task, 3u);
  EXPECT_EQ(logs.attempt, 2u);
  EXPECT_THAT(logs.jobs, ElementsAre("last"));
  EXPECT_THAT(parsed({"cancel", "a", "b", "c"}).jobs, ElementsAre("a", "b", "c"));
  const Command jobs = parsed({"jobs", "--state", "queued", "--state", "running", "-o", "wide"});
  EXPECT_THAT(jobs.states, ElementsAre("queued", "running"));
  EXPECT_EQ(jobs.format, Format::wide);
  EXPECT_EQ(parsed({"wait", "last", "--for", "running", "--timeout", "5s"}).timeout, "5s");
  EXPECT_EQ(parsed({"version"}).verb, Verb::version);
  EXPECT_EQ(parsed({"run", "--", "x"}).verb, Verb::run);
  EXPECT_EQ(parsed({"describe", "x", "-o", "yaml"}).format, Format::yaml);
  EXPECT_EQ(parsed({"events", "x"}).verb, Verb::events);
}

TEST(Options, what_is_wrong_is_said_and_ends_with_2) {
  struct Row {
    std::vector<std::string> arguments;
    const char* words;
  };
  const std::vector<Row> rows{
      {{}, "say what to do"},
      {{"jbos"}, "did you mean \"jobs\"?"},
      {{"--socket", "/s", "jbos"}, "no command \"jbos\"; did you mean \"jobs\"?"},
      {{"--socket=/s", "jbos"}, "no command \"jbos\""},
      {{"submit"}, "say what to run"},
      {{"submit", "--"}, "no program"},
      {{"submit", "-f", "a", "--", "b"}, "say what to run"},
      {{"submit", "./train"}, "./train"},
      {{"jobs", "--", "x"}, "submit and run only"},
      {{"jobs", "--limit", "0"}, "--limit"},
      {{"jobs", "-o", "xml"}, "xml"},
      {{"describe"}, "job"},
      {{"describe", "a", "b"}, "b"},
      {{"logs", "a", "--task", "x"}, "--task"},
      {{"nodes", "--no-such"}, "--no-such"},
  };
  for (const Row& row : rows) {
    const Farewell farewell = refused(row.arguments);
    EXPECT_EQ(farewell.code, exit_usage) << row.words;
    EXPECT_THAT(farewell.text, HasSubstr(row.words));
  }
}

// What keel says of these arguments before it asks anybody.
std::string said_of(const std::vector<std::string>& arguments) {
  const auto command = parse_command(arguments);
  if (!command) return command.error().text;
  UsersClient client({.address = "unix:/nowhere"});
  std::ostringstream out, err;
  const Session session{.client = client, .address = "nowhere", .out = out, .err = err};
  const Surroundings surroundings{.directory = "/", .path = "/bin"};
  const int code = command->verb == Verb::submit ? submit(session, *command, surroundings)
                   : command->verb == Verb::run  ? run(session, *command, surroundings)
                                                 : wait(session, *command);
  EXPECT_NE(code, exit_done);
  return err.str();
}

TEST(Options, a_bad_quantity_is_refused_with_option_value_and_limit) {
  // option, what is allowed, and what is not besides what is no quantity at all
  struct Row {
    const char* verb;
    const char* option;
    const char* limit;
    std::vector<std::string> out_of_range;
  };
  const std::vector<Row> rows{
      {"submit", "--gpus", "0 to 1024", {"-1", "1025", "1000000000000000000"}},
      {"submit", "--tasks", "1 to 4096", {"0", "4097", "99999999999999999999"}},
      {"run", "--retries", "0 to 100", {"101", "-1", "007"}},
      {"submit", "--cpu", "1m to 1000000", {"0", "1000000000000000000", "0.0001"}},
      {"submit", "--memory", "1Mi to 1024Ti", {"0", "1025Ti", "9999999999999999999Gi"}},
      {"run", "--time-limit", "1s to 8784h", {"0s", "9000h", "99999999999999999999s", "60"}},
      {"submit", "--grace", "0s to 1h", {"61m", "30"}},
      {"submit", "--start-deadline", "1s to 8784h", {"0s", "1h1h"}},
      {"wait", "--timeout", "a duration, such as 90s or 2h30m", {"60", "99999999999999999999s"}},
      {"logs", "--task", "0 to 4095", {"4096", "1000000000000000000"}},
      {"logs", "--attempt", "1 to 4294967295", {"0", "4294967296"}},
      {"jobs", "--limit", "1 to 1000", {"0", "1001", "99999999999999999999"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> values{"-1", "1e3", "two", ""};
    values.insert(values.end(), row.out_of_range.begin(), row.out_of_range.end());
    for (const std::string& value : values) {
      std::vector<std::string> arguments{row.verb, row.option, value};
      const std::string verb = row.verb;
      if (verb == "submit" || verb == "run") {
        arguments.insert(arguments.end(), {"--", "sh"});
      } else if (verb != "jobs") {
        arguments.emplace_back("last");
      }
      const std::string text = said_of(arguments);
      EXPECT_THAT(text, HasSubstr("keel: " + std::string(row.option) + ": "));
      EXPECT_THAT(text, HasSubstr("allowed: " + std::string(row.limit) + ". "));
      EXPECT_THAT(text, HasSubstr(value));
    }
  }
}

TEST(Options, help_is_no_error) {
  EXPECT_EQ(refused({"--help"}).code, exit_done);
  EXPECT_THAT(refused({"--help"}).text, HasSubstr("keel submit --gpus 2 -- ./train"));
  EXPECT_THAT(refused({"submit", "-h"}).text, HasSubstr("--gpu-model"));
}

}  // namespace
}  // namespace keel::cli
