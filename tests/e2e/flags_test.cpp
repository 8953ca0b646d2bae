// Every option of our programs that takes a value, against values that it must not take: the whole
// line is refused at once, with the option and the value, and nothing is begun.
#include <gmock/gmock.h>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

const std::vector<std::string> numbers_refused{"-9223372036854775808",
                                               "-1",
                                               "9223372036854775808",
                                               "18446744073709551616",
                                               "1e308",
                                               "NaN",
                                               "1e3",
                                               "0x10",
                                               " 1",
                                               "１",
                                               "1.5",
                                               "01",
                                               "+1",
                                               "",
                                               "1\n2",
                                               "\x1b[31m7",
                                               "\xff",
                                               std::string(1 << 16, '9')};
const std::vector<std::string> durations_refused{
    "-1s",      "0",    "1",    "1e3s", "9223372036854775807s",
    "1s1d",     "1.5s", " 10s", "10s ", "１0s",
    "\x1b[2Js", "\xff", "1s\n", "367d"};
const std::vector<std::string> texts_refused{
    "", ".hidden", "a/b", "../up", "a b", "\xff", "\x1b[7m", "a\nb", "ｎ1", std::string(65, 'n')};

struct Option {
  std::vector<std::string> command;  // up to the value
  std::vector<std::string> refused;
};

std::string bin(const std::string& program) { return PROGRAM_DIR "/" + program; }

std::vector<Option> all_options() {
  const std::string dst = bin("keel-dst"), bench = bin("keel-bench"), agent = bin("keel-agent");
  std::vector<Option> all{
      {{dst, "--seed"}, numbers_refused},
      {{dst, "--threads"}, numbers_refused},
      {{dst, "--seeds"}, numbers_refused},
      {{dst, "--seeds"},
       {"1..", "..1", "0..1", "2..1", "1...2", "-1..2", "1..18446744073709551615"}},
      {{dst, "--plant"}, {"no_such", "\x1b[7m", "\xff", std::string(1 << 16, 'p')}},
      {{bench, "launch", "--launches"}, numbers_refused},
      {{bench, "store", "--stored"}, numbers_refused},
      {{bench, "store", "--lives"}, numbers_refused},
      {{bench, "store", "--seconds"}, numbers_refused},
      {{bin("keel-nvml"), "--deadline"}, durations_refused},
      {{agent, "--nvml-every"}, durations_refused},
      {{agent, "--nvml-deadline"}, durations_refused},
      {{agent, "--logs-for"}, {"-1s", "1", "1e3s", "9223372036854775807s", "\x1b[2J", "\xff"}},
      {{agent, "--logs-kept"}, numbers_refused},
      {{agent, "--logs-bytes"}, {"-1", "1e3", "0x10", "8589934592Gi", " 1", "\x1b[7m", "\xff"}},
      {{agent, "--disk-wanted"}, {"-1", "1e3", "0x10", "8589934592Gi", "1Zi", "\x1b[7m", "\xff"}},
      {{agent, "--name"}, texts_refused},
      {{bin("keeld"), "--keep-events"}, numbers_refused}};
  for (const char* name : {"--claim-for", "--heartbeat", "--silence", "--disconnect-stop"}) {
    all.push_back({{bin("keeld"), name}, durations_refused});
  }
  return all;
}

// One line, fit for any terminal.
bool is_harmless(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' || c == '\n'; }) &&
         std::ranges::count(text, '\n') == 1;
}

class Flags : public testing::TestWithParam<Option> {};

// "keeld__silence"
std::string name_of(const testing::TestParamInfo<Option>& info) {
  const std::string& program = info.param.command.front();
  std::string name = program.substr(program.rfind('/') + 1) + info.param.command.back();
  std::ranges::replace(name, '-', '_');
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(All, Flags, testing::ValuesIn(all_options()), name_of);

TEST_P(Flags, bad_values_are_refused_by_name) {
  const Platform platform;
  const auto& [command, refused] = GetParam();
  for (const std::string& value : refused) {
    std::vector<std::string> line = command;
    // As one word, since a program may take "-1" for an option of its own.
    line.back() += "=" + value;
    const Ran ran = run(line, platform.path("log"));
    SCOPED_TRACE(command.front() + " " + command.back() + " '" + value.substr(0, 80) + "'");
    EXPECT_EQ(ran.code, 2) << ran.output.substr(0, 1000);
    EXPECT_THAT(ran.output, testing::HasSubstr(command.back()));
    EXPECT_TRUE(is_harmless(ran.output)) << ran.output.substr(0, 1000);
  }
}

TEST(FlagFiles, that_cannot_be_read_are_named_and_no_agent_dies_of_them) {
  const Platform platform({.keeld = {}, .devices = "nvml", .agent = {"--xid-catalogue", "VALUE"}});
  for (const std::string& path :
       {platform.path("nowhere"), platform.path("."), std::string("\x1b[7m")}) {
    std::vector<std::string> line = platform.agent_command();
    line.back() = path;
    const Ran ran = run(line, platform.path("log"));
    EXPECT_EQ(ran.code, 1) << ran.output;
    EXPECT_THAT(ran.output, testing::HasSubstr("--xid-catalogue"));
    EXPECT_TRUE(is_harmless(ran.output)) << ran.output;
  }
}

}  // namespace
}  // namespace keel::e2e
