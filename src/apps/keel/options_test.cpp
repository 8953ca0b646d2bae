#include <gmock/gmock.h>

#include "apps/keel/command.h"
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

TEST(Options, help_is_no_error) {
  EXPECT_EQ(refused({"--help"}).code, exit_done);
  EXPECT_THAT(refused({"--help"}).text, HasSubstr("keel submit --gpus 2 -- ./train"));
  EXPECT_THAT(refused({"submit", "-h"}).text, HasSubstr("--gpu-model"));
}

}  // namespace
}  // namespace keel::cli
