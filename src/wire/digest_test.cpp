// The vectors of docs/idempotency.md, and the laws of the digests.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <set>

#include "wire/spec.h"
#include "wire/tree.h"

namespace keel {
namespace {

SaidSpec said_of(const Result<Tree, std::vector<FieldError>>& tree) {
  v1::JobSpec message;
  EXPECT_TRUE(tree.has_value());
  const auto filled = fill(message, *tree);
  EXPECT_TRUE(filled.has_value());
  const auto said = parse_spec(message);
  EXPECT_TRUE(said.has_value());
  return said.value_or(SaidSpec{});
}

std::string digest_of_yaml(std::string_view text) {
  return print(said_digest(said_of(parse_yaml(text))));
}
std::string digest_of_json(std::string_view text) {
  return print(said_digest(said_of(parse_json(text))));
}

constexpr std::string_view full_yaml = R"(
name: digits
labels: {team: vision, a: "ä"}
program: ./train
args: [--epochs, "3", ""]
env:
  B: 2
  A: 1
files:
- path: train
  digest: a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf
  executable: true
- {path: lib/x.py, digest: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}
gang: {tasks: 2, gpus_per_task: 8, gpu_model: h100-80gb}
cpu: 1500m
memory: 16Gi
time_limit: 1h
grace: 30s
stop_signal: USR1
retries: 3
start_deadline: 24h
)";

JobSpec normalised(const SaidSpec& said) {
  JobSpec spec;
  spec.name = said.name.value_or("a");
  spec.labels = said.labels;
  spec.program = said.program;
  spec.args = said.args;
  spec.env = said.env;
  spec.files = said.files;
  spec.gang = Gang{said.gang.tasks.value_or(1), said.gang.gpus_per_task.value_or(0),
                   said.gang.gpu_model.value_or("")};
  spec.cpu_per_task = said.cpu_per_task;
  spec.memory_per_task = said.memory_per_task;
  spec.time_limit = said.time_limit.value_or(hours(24));
  spec.grace = said.grace.value_or(seconds(30));
  spec.stop_signal = said.stop_signal.value_or(SIGTERM);
  spec.retries = said.retries.value_or(0);
  spec.start_deadline = said.start_deadline;
  return spec;
}

TEST(Digest, sha256_is_the_standard_one) {
  EXPECT_EQ(print(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(print(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// Computed by the Python program of docs/idempotency.md. They may never change.
TEST(Digest, the_vectors_of_the_document_hold) {
  EXPECT_EQ(digest_of_yaml("program: a"),
            "bac99acb9aadd4846b1a0df4e138ba1bf1e577857d6acae4d7720620c5ae9f9e");
  EXPECT_EQ(digest_of_yaml("program: a\nenv: {B: \"1\"}"),
            "6e978424a449973452d3cd82b6759fc7a6628deefc058038a5211d66c821e81c");
  EXPECT_EQ(digest_of_yaml(full_yaml),
            "c5c047d8ad9ab9649f06f626bc0b48f14b55dad4a689f8840de2df93a6ddf2fd");
  EXPECT_EQ(digest_of_yaml("program: a\nretries: 0"),
            "133f4f11b0ab31a86f5aed0aa1c2d8df3c1d92784b8c5731fabc88975b5a3a9e");
  EXPECT_EQ(digest_of_yaml("program: a\ngang: {tasks: 1}"),
            "2811c616623b5f99387c50d3f2e6b496b71259e61209557a5b8b9d7634a8af60");
  EXPECT_EQ(print(spec_digest(normalised(said_of(parse_yaml("program: a"))))),
            "480a439691daf76e1156bb3a73ef3ebd0aff2c0bfb6c1e198f32f24d075cd6b0");
  EXPECT_EQ(print(spec_digest(normalised(said_of(parse_yaml(full_yaml))))),
            "d622ddb557c8b606c7b34144049640ebfc2a8a60eeeb9edb903ff1c3ba257413");
}

TEST(Digest, order_spacing_units_and_format_change_nothing) {
  const std::string digest = digest_of_yaml(
      "program: a\nenv: {B: 2, A: 1}\nlabels: {x: y, a: b}\ntime_limit: 1h\nmemory: 1Gi\ncpu: 0.5");
  EXPECT_EQ(
      digest,
      digest_of_yaml(
          "cpu: 500m\n# a remark\nmemory: \"1024Mi\"\ntime_limit: 60m\nlabels:\n  a: b\n  x: 'y'\n"
          "env:\n    A: \"1\"\n    B: '2'\nprogram: \"a\"\n"));
  EXPECT_EQ(
      digest,
      digest_of_json(
          R"({"time_limit": "3600s", "labels": {"a": "b", "x": "y"}, "env": {"A": "1", "B": "2"},
          "memory": "1073741824", "cpu": "500m", "program": "a"})"));
  EXPECT_EQ(digest_of_yaml("program: a\nstop_signal: SIGINT"),
            digest_of_yaml("program: a\nstop_signal: INT"));
  EXPECT_EQ(digest_of_yaml("program: a\ngang: {}\nargs: []\nenv: {}"),
            digest_of_yaml("program: a"));
}

TEST(Digest, every_field_that_is_said_or_changed_changes_it) {
  const SaidSpec base = said_of(parse_yaml(full_yaml));
  const std::vector<std::function<void(SaidSpec&)>> changes{
      [](SaidSpec& s) { s.name.reset(); },
      [](SaidSpec& s) { s.name = "other"; },
      [](SaidSpec& s) { s.labels.clear(); },
      [](SaidSpec& s) { s.labels["team"] = "audio"; },
      [](SaidSpec& s) {
        s.labels = {{"teamvision", ""}, {"a", "ä"}};
      },
      [](SaidSpec& s) { s.program = "train"; },
      [](SaidSpec& s) { s.args.clear(); },
      [](SaidSpec& s) {
        s.args = {"--epochs3", "", ""};
      },
      [](SaidSpec& s) { std::swap(s.args[0], s.args[1]); },
      [](SaidSpec& s) { s.env["C"] = ""; },
      [](SaidSpec& s) { std::swap(s.env, s.labels); },
      [](SaidSpec& s) { s.files.pop_back(); },
      [](SaidSpec& s) { s.files[0].executable = !s.files[0].executable; },
      [](SaidSpec& s) { s.files[0].digest.bytes[31] ^= 1; },
      [](SaidSpec& s) { s.files[0].path += "x"; },
      [](SaidSpec& s) { s.gang.tasks = 3; },
      [](SaidSpec& s) { s.gang.tasks.reset(); },
      [](SaidSpec& s) { s.gang.gpus_per_task = 2; },
      [](SaidSpec& s) { s.gang.gpus_per_task.reset(); },
      [](SaidSpec& s) { s.gang.gpu_model = "a100"; },
      [](SaidSpec& s) { s.gang.gpu_model.reset(); },
      [](SaidSpec& s) { s.gang = {}; },
      [](SaidSpec& s) { s.cpu_per_task = Millicores{1501}; },
      [](SaidSpec& s) { s.cpu_per_task.reset(); },
      [](SaidSpec& s) { s.memory_per_task = Bytes{16}; },
      [](SaidSpec& s) { s.memory_per_task.reset(); },
      [](SaidSpec& s) { s.time_limit = Duration{s.time_limit->us + 1}; },
      [](SaidSpec& s) { s.time_limit.reset(); },
      [](SaidSpec& s) { s.grace = Duration{}; },
      [](SaidSpec& s) { s.grace.reset(); },
      [](SaidSpec& s) { std::swap(s.grace, s.time_limit); },
      [](SaidSpec& s) { s.stop_signal = SIGUSR2; },
      [](SaidSpec& s) { s.stop_signal.reset(); },
      [](SaidSpec& s) { s.retries = 0; },
      [](SaidSpec& s) { s.retries.reset(); },
      [](SaidSpec& s) { s.start_deadline = hours(1); },
      [](SaidSpec& s) { s.start_deadline.reset(); },
  };
  std::set<Digest> seen{said_digest(base)};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SaidSpec changed = base;
    changes[i](changed);
    ASSERT_NE(changed, base) << "change " << i;
    EXPECT_TRUE(seen.insert(said_digest(changed)).second) << "change " << i;
  }
}

TEST(Digest, a_field_set_to_its_default_is_not_a_field_not_said) {
  const std::string silent = digest_of_yaml("program: a");
  for (const char* line : {"name: a", "gang: {tasks: 1}", "gang: {gpus_per_task: 0}",
                           "time_limit: 24h", "grace: 30s", "stop_signal: TERM", "retries: 0"}) {
    EXPECT_NE(digest_of_yaml("program: a\n" + std::string(line)), silent) << line;
  }
}

TEST(Digest, what_was_said_and_what_it_means_never_meet) {
  const SaidSpec said = said_of(parse_yaml(full_yaml));
  EXPECT_NE(said_digest(said), spec_digest(normalised(said)));
}

}  // namespace
}  // namespace keel
