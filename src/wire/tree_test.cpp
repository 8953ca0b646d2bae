#include "wire/tree.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>

#include "keel/v1/api.pb.h"
#include "model/limits.h"
#include "tests/values/generator.h"
#include "wire/convert.h"

namespace keel {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Parse = Result<Tree, std::vector<FieldError>> (*)(std::string_view);

FieldError only_error(const Result<Tree, std::vector<FieldError>>& tree) {
  EXPECT_FALSE(tree.has_value());
  if (tree) return {};
  EXPECT_THAT(tree.error(), SizeIs(1));
  return tree.error().front();
}

// The errors of filling a spec from YAML, or of parsing it.
std::vector<FieldError> spec_errors(std::string_view yaml) {
  const auto tree = parse_yaml(yaml);
  if (!tree) return tree.error();
  v1::JobSpec spec;
  const auto filled = fill(spec, *tree);
  return filled ? std::vector<FieldError>{} : filled.error();
}

v1::JobSpec spec_from(Parse parse, std::string_view text) {
  v1::JobSpec spec;
  const auto tree = parse(text);
  EXPECT_TRUE(tree.has_value()) << text;
  const auto filled = tree ? fill(spec, *tree) : Done{};
  EXPECT_TRUE(filled.has_value()) << text;
  return spec;
}

TEST(Tree, yaml_and_json_give_the_same_message) {
  const v1::JobSpec from_yaml = spec_from(parse_yaml, R"(# a job
program: python3
args:
- train.py
- "3"
env: {A: 1, B: true, C: "", D: 1e3}
gang:
  tasks: 2
files:
  - path: train.py
    from: src/train.py
    executable: false
)");
  const v1::JobSpec from_json = spec_from(parse_json, R"({"program": "python3",
    "args": ["train.py", "3"], "env": {"A": 1, "B": true, "C": "", "D": 1e3}, "gang": {"tasks": 2},
    "files": [{"path": "train.py", "from": "src/train.py", "executable": false}]})");
  EXPECT_EQ(print_json(from_yaml), print_json(from_json));
  EXPECT_EQ(from_yaml.env().at("A"), "1");
  EXPECT_EQ(from_yaml.env().at("B"), "true");
  EXPECT_EQ(from_yaml.env().at("D"), "1e3");
  EXPECT_EQ(from_yaml.gang().tasks(), 2);
}

TEST(Tree, an_unknown_field_is_refused_with_the_nearest_one) {
  const auto errors =
      spec_errors("program: a\ngang:\n  taks: 2\ntimelimit: 1h\ngpus: 1\ncolour: red");
  ASSERT_THAT(errors, SizeIs(4));
  EXPECT_EQ(errors[0].field, "gang.taks");
  EXPECT_EQ(errors[0].value, "2");
  EXPECT_EQ(errors[0].limit, "one of tasks, gpus_per_task, gpu_model");
  EXPECT_EQ(errors[0].help, "There is no such field; did you mean \"tasks\"? (line 3)");
  EXPECT_THAT(errors[1].help, HasSubstr("\"time_limit\""));
  EXPECT_THAT(errors[2].help, HasSubstr("\"gang.gpus_per_task\""));
  EXPECT_THAT(errors[3].help, HasSubstr("no such field. (line 6)"));
}

TEST(Tree, a_number_is_digits_and_nothing_else) {
  for (const char* text : {"0x10", "1e3", "\" 1\"", "１", "1_000", "\"1\"", "'1'", "1.0", "+1",
                           "007", "-0", "abc", "true", "0o17", "9223372036854775808",
                           "-9223372036854775809", "99999999999999999999999999"}) {
    const auto errors = spec_errors("gang: {tasks: " + std::string(text) + "}");
    ASSERT_THAT(errors, SizeIs(1)) << text;
    EXPECT_EQ(errors[0].field, "gang.tasks");
  }
  EXPECT_EQ(spec_errors("gang: {tasks: abc}")[0].value, "abc");
  EXPECT_EQ(spec_errors("gang: {tasks: abc}")[0].limit, "a whole number");
  EXPECT_EQ(spec_from(parse_yaml, "gang: {tasks: 1000000000000000000}").gang().tasks(),
            1'000'000'000'000'000'000);
  EXPECT_EQ(spec_from(parse_yaml, "retries: -9223372036854775808").retries(), INT64_MIN);
  EXPECT_EQ(spec_from(parse_json, "{\"retries\": 9223372036854775807}").retries(), INT64_MAX);
}

TEST(Tree, big_numbers_of_json_are_refused_by_the_field_and_not_rounded) {
  for (const char* text : {"18446744073709551616", "1e3", "1.0", "9223372036854775808", "\"1\""}) {
    v1::JobSpec spec;
    const auto tree = parse_json("{\"retries\": " + std::string(text) + "}");
    ASSERT_TRUE(tree.has_value());
    const auto filled = fill(spec, *tree);
    ASSERT_FALSE(filled.has_value()) << text;
    EXPECT_EQ(filled.error()[0].field, "retries");
  }
}

TEST(Tree, a_wrong_type_is_named) {
  EXPECT_EQ(spec_errors("program: [a]")[0].limit, "one value");
  EXPECT_EQ(spec_errors("program:")[0].limit, "a value");
  EXPECT_EQ(spec_errors("program: ~")[0].limit, "a value");
  EXPECT_EQ(spec_errors("args: a")[0].limit, "a list");
  EXPECT_EQ(spec_errors("args: [[a]]")[0].field, "args[0]");
  EXPECT_EQ(spec_errors("args: [a, null]")[0].field, "args[1]");
  EXPECT_EQ(spec_errors("env: [A=1]")[0].limit, "a map");
  EXPECT_EQ(spec_errors("env: {A: [1]}")[0].field, "env.A");
  EXPECT_EQ(spec_errors("env: {A: }")[0].field, "env.A");
  EXPECT_EQ(spec_errors("gang: 3")[0].limit, "fields");
  EXPECT_EQ(spec_errors("files: [{path: a, executable: yes}]")[0].limit, "true or false");
  EXPECT_EQ(spec_errors("files: [{path: a, executable: \"true\"}]")[0].field,
            "files[0].executable");
  EXPECT_EQ(spec_errors("")[0].field, "the file");
  EXPECT_EQ(spec_errors("- a")[0].value, "a list");
  EXPECT_EQ(spec_errors("just words")[0].value, "just words");
}

TEST(Tree, all_faults_are_given_at_once) {
  EXPECT_THAT(spec_errors("gang: {tasks: x, gpus_per_task: y}\nargs: z\nnmae: w"), SizeIs(4));
}

TEST(Tree, a_key_stands_once) {
  const FieldError twice = only_error(parse_yaml("env:\n  A: 1\n  B: 2\n  A: 3\n"));
  EXPECT_EQ(twice.field, "env.A");
  EXPECT_EQ(twice.value, "given on line 2 and again on line 4");
  EXPECT_EQ(only_error(parse_json(R"({"env": {"A": "1", "A": "2"}})")).field, "env.A");
  EXPECT_EQ(only_error(parse_json(R"({"\u0041": 1, "A": 2})")).field, "A");
}

TEST(Tree, yaml_that_does_more_than_say_values_is_refused) {
  EXPECT_EQ(only_error(parse_yaml("a: &x 1\nb: *x")).value, "an anchor (&name)");
  EXPECT_EQ(only_error(parse_yaml("a: &x [1]")).value, "an anchor (&name)");
  EXPECT_EQ(only_error(parse_yaml("a: 1\n<<: {b: 2}")).value, "<<");
  EXPECT_EQ(only_error(parse_yaml("a: !!str 1")).value, "tag:yaml.org,2002:str");
  EXPECT_EQ(only_error(parse_yaml("a: !mine {b: 1}")).value, "!mine");
  EXPECT_EQ(only_error(parse_yaml("a: 1\n---\na: 2")).limit, "one document");
  EXPECT_EQ(only_error(parse_yaml("? [a, b]\n: 1")).limit, "text as key");
  EXPECT_EQ(only_error(parse_yaml(": 1")).field, "line 1");
  EXPECT_EQ(only_error(parse_yaml("a: *nobody")).field, "line 1");
}

TEST(Tree, what_cannot_be_read_names_the_line) {
  EXPECT_EQ(only_error(parse_yaml("a: 1\nb: [1, 2\nc: 3\n")).limit, "YAML or JSON");
  EXPECT_EQ(only_error(parse_yaml("a: 1\n\tb: 2\n")).field, "line 2");
  EXPECT_EQ(only_error(parse_json("{\n\"a\": 1,\n}")).field, "line 3");
  EXPECT_EQ(only_error(parse_json("{\"a\": 1} x")).limit, "JSON");
  EXPECT_EQ(only_error(parse_json("")).limit, "JSON");
  EXPECT_EQ(only_error(parse_json("{\"a\": 1, // no\n\"b\": 2}")).limit, "JSON");
  EXPECT_EQ(only_error(parse_yaml("a: 1\nb: \xff")).field, "line 2");
  EXPECT_EQ(only_error(parse_yaml(std::string_view("a: \0", 4))).limit, "UTF-8 text without NUL");
  EXPECT_EQ(only_error(parse_json("{\"a\": \"\\ud800\"}")).limit, "JSON");
  EXPECT_EQ(only_error(parse_yaml("a: \"\\N\"")).limit, "UTF-8 text");
  EXPECT_EQ(only_error(parse_yaml("\"\\_\": 1")).limit, "UTF-8 text");
}

TEST(Tree, everything_has_a_bound) {
  for (const Parse parse : {&parse_yaml, &parse_json}) {
    EXPECT_TRUE(parse("{\"a\": " + std::string(31, '[') + std::string(31, ']') + "}").has_value());
    const FieldError deep =
        only_error(parse("{\"a\": " + std::string(32, '[') + std::string(32, ']') + "}"));
    EXPECT_EQ(deep.limit, "at most 32 levels");
    EXPECT_THAT(deep.field, HasSubstr("a[0]"));
    EXPECT_FALSE(parse(std::string(200'000, '[')).has_value());
    EXPECT_FALSE(parse(std::string(200'000, '{')).has_value());
    std::string many = "[";
    for (int i = 0; i < 10'000; ++i) many += "1,";
    EXPECT_EQ(only_error(parse(many + "1]")).limit, "at most 10000 values");
    const std::string large(limits::spec_bytes_max + 1, ' ');
    EXPECT_EQ(only_error(parse(large)).value, "262145 bytes");
  }
  std::string nested;
  for (std::size_t i = 0; i < 400; ++i) nested += std::string(i, ' ') + "a:\n";
  EXPECT_EQ(only_error(parse_yaml(nested)).limit, "at most 32 levels");
}

TEST(Tree, words_of_other_yaml_versions_are_text) {
  const v1::JobSpec spec =
      spec_from(parse_yaml, "args: [yes, no, on, off, 0o17, 1_000, .inf, 12:30]");
  EXPECT_THAT(spec.args(), ElementsAre("yes", "no", "on", "off", "0o17", "1_000", ".inf", "12:30"));
}

TEST(Tree, enum_values_are_lower_case_words) {
  v1::ListJobsRequest request;
  ASSERT_TRUE(fill(request, *parse_yaml("states: [queued, running]\nlimit: 5")).has_value());
  EXPECT_THAT(request.states(), ElementsAre(v1::QUEUED, v1::RUNNING));
  const auto filled = fill(request, *parse_yaml("states: [runing, job_state_unspecified]"));
  ASSERT_FALSE(filled.has_value());
  EXPECT_EQ(filled.error()[0].help, "Did you mean \"running\"? (line 1)");
  EXPECT_EQ(filled.error()[1].field, "states[1]");
}

TEST(Tree, messages_are_printed_for_people) {
  v1::SubmitResponse answer;
  answer.set_job("0123");
  EXPECT_EQ(print_yaml(answer), "job: \"0123\"\nexisting: false\n");
  EXPECT_EQ(print_json(answer), "{\n  \"job\": \"0123\",\n  \"existing\": false\n}\n");
  v1::JobSpec spec;
  spec.set_program("./a");
  spec.add_args("yes");
  (*spec.mutable_env())["B"] = "\x1b\xe2\x80\xae";
  (*spec.mutable_env())["A"] = "x: y";
  spec.mutable_gang()->set_tasks(2);
  v1::TakenFile& file = *spec.add_files();
  file.set_path("a");
  EXPECT_EQ(print_yaml(spec), R"(labels: {}
program: ./a
args:
  - "yes"
env:
  A: "x: y"
  B: "\u001b\u202e"
files:
  - path: a
    digest: ""
    executable: false
    from: ""
gang:
  tasks: 2
)");
  v1::ListJobsResponse none;
  EXPECT_EQ(print_json(none), "{\n  \"jobs\": [],\n  \"next\": \"\"\n}\n");
}

TEST(Tree, digests_are_hex_and_output_is_text) {
  v1::Job job;
  job.set_said("\x01\xff");
  EXPECT_THAT(print_yaml(job), HasSubstr("said: \"01ff\""));
  v1::LogLine line;
  line.set_text(
      "a\xff"
      "b");
  EXPECT_THAT(print_yaml(line), HasSubstr("text: \"a\uFFFDb\""));
}

template <class Message>
void expect_round_trip(const Message& message) {
  const auto check = [&](Parse parse, const std::string& text) {
    const auto tree = parse(text);
    ASSERT_TRUE(tree.has_value()) << tree.error()[0].help << "\n" << text;
    Message back;
    const auto filled = fill(back, *tree);
    ASSERT_TRUE(filled.has_value()) << filled.error()[0].field << "\n" << text;
    EXPECT_TRUE(MessageDifferencer::Equals(back, message)) << text;
  };
  check(parse_yaml, print_yaml(message));
  check(parse_json, print_json(message));
}

TEST(Tree, what_is_printed_is_read_back) {
  Generator make(seed_for_test());
  for (int i = 0; i < 200; ++i) {
    expect_round_trip(to_pb(make.spec()));
    expect_round_trip(to_pb(make.job()));
    expect_round_trip(to_pb(make.node()));
    const std::size_t kind = static_cast<std::size_t>(i) % std::variant_size_v<JobEvent>;
    expect_round_trip(to_pb(StoredEvent{{1}, {}, JobFact{JobId{1}, make.job_event(kind)}}));
  }
}

// Any text may be refused, but nothing may crash, and what is accepted prints and parses again.
TEST(Tree, damaged_files_are_refused_or_read_but_never_more) {
  Generator make(seed_for_test());
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#~ \n\t\\ab1<=.";
  int read = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text =
        make.flip() ? print_yaml(to_pb(make.spec())) : print_json(to_pb(make.spec()));
    for (std::size_t slips = 1 + make.count(8); slips > 0 && !text.empty(); --slips) {
      const std::size_t at = make.count(text.size() - 1);
      if (make.flip())
        text.erase(at, 1 + make.count(5));
      else
        text.insert(at, 1, alphabet[make.count(alphabet.size() - 1)]);
    }
    for (const Parse parse : {&parse_yaml, &parse_json}) {
      const auto tree = parse(text);
      v1::JobSpec spec;
      if (!tree || !fill(spec, *tree)) continue;
      ++read;
      expect_round_trip(spec);
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace keel
