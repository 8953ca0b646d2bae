#include "wire/spec.h"

#include <gmock/gmock.h>

#include <csignal>
#include <functional>

#include "model/limits.h"

namespace keel {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string digest_text(64, 'a');

v1::JobSpec minimal() {
  v1::JobSpec spec;
  spec.set_program("train");
  return spec;
}

void add_file(v1::JobSpec& spec, const std::string& path, bool executable = false) {
  v1::TakenFile& file = *spec.add_files();
  file.set_path(path);
  file.set_digest(digest_text);
  file.set_executable(executable);
}

std::vector<std::string> faulty_fields(const v1::JobSpec& spec) {
  const auto said = parse_spec(spec);
  std::vector<std::string> fields;
  if (said) return fields;
  for (const FieldError& error : said.error()) {
    EXPECT_NE(error.limit, "") << error.field;
    EXPECT_NE(error.help, "") << error.field;
    fields.push_back(error.field);
  }
  return fields;
}

TEST(Spec, the_smallest_spec_names_a_program) {
  const auto said = parse_spec(minimal());
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(*said, SaidSpec{.program = "train"});
}

TEST(Spec, every_field_is_read) {
  v1::JobSpec spec;
  spec.set_name("digits");
  (*spec.mutable_labels())["team"] = "vision";
  spec.set_program("./train");
  spec.add_args("--epochs");
  (*spec.mutable_env())["A_1"] = "x y";
  add_file(spec, "z");
  add_file(spec, "train", true);
  spec.mutable_gang()->set_tasks(2);
  spec.mutable_gang()->set_gpus_per_task(8);
  spec.mutable_gang()->set_gpu_model("h100-80gb");
  spec.set_cpu("500m");
  spec.set_memory("16Gi");
  spec.set_time_limit("1h");
  spec.set_grace("0s");
  spec.set_stop_signal("SIGUSR1");
  spec.set_retries(0);
  spec.set_start_deadline("1d");
  const auto said = parse_spec(spec);
  ASSERT_TRUE(said.has_value());
  const Digest digest = *parse_digest(digest_text);
  EXPECT_EQ(*said, (SaidSpec{.name = "digits",
                             .labels = {{"team", "vision"}},
                             .program = "./train",
                             .args = {"--epochs"},
                             .env = {{"A_1", "x y"}},
                             .files = {{"train", digest, true}, {"z", digest, false}},
                             .gang = {2, 8, "h100-80gb"},
                             .cpu_per_task = Millicores{500},
                             .memory_per_task = gibibytes(16),
                             .time_limit = hours(1),
                             .grace = Duration{},
                             .stop_signal = SIGUSR1,
                             .retries = 0,
                             .start_deadline = hours(24)}));
}

TEST(Spec, all_faults_are_given_at_once_in_the_order_of_the_fields) {
  v1::JobSpec spec;
  spec.set_name("");
  (*spec.mutable_labels())[""] = "x";
  spec.add_args(std::string("a\0b", 3));
  (*spec.mutable_env())["1A"] = "x";
  add_file(spec, "../x");
  spec.mutable_gang()->set_tasks(0);
  spec.mutable_gang()->set_gpus_per_task(-1);
  spec.mutable_gang()->set_gpu_model("H100");
  spec.set_cpu("0");
  spec.set_memory("1Ki");
  spec.set_time_limit("0s");
  spec.set_grace("2h");
  spec.set_stop_signal("KILL");
  spec.set_retries(101);
  spec.set_start_deadline("soon");
  EXPECT_THAT(faulty_fields(spec),
              ElementsAre("name", "labels.", "program", "args[0]", "env.1A", "files[0].path",
                          "gang.tasks", "gang.gpus_per_task", "gang.gpu_model", "cpu", "memory",
                          "time_limit", "grace", "stop_signal", "retries", "start_deadline"));
}

TEST(Spec, a_fault_says_value_and_limit) {
  v1::JobSpec spec = minimal();
  spec.mutable_gang()->set_gpus_per_task(1'000'000'000'000'000'000);
  EXPECT_THAT(parse_spec(spec).error(),
              ElementsAre(FieldError{"gang.gpus_per_task", "1000000000000000000", "0 to 1024",
                                     "The number is out of range."}));
}

// field, the largest or smallest value that is accepted, the next one that is not
TEST(Spec, bounds_are_exact) {
  struct Row {
    const char* field;
    std::function<void(v1::JobSpec&)> good;
    std::function<void(v1::JobSpec&)> bad;
  };
  using S = v1::JobSpec;
  const std::vector<Row> rows{
      {"gang.tasks", [](S& s) { s.mutable_gang()->set_tasks(4096); },
       [](S& s) { s.mutable_gang()->set_tasks(4097); }},
      {"gang.tasks", [](S& s) { s.mutable_gang()->set_tasks(1); },
       [](S& s) { s.mutable_gang()->set_tasks(INT64_MIN); }},
      {"gang.gpus_per_task", [](S& s) { s.mutable_gang()->set_gpus_per_task(1024); },
       [](S& s) { s.mutable_gang()->set_gpus_per_task((std::int64_t{1} << 32) + 1); }},
      {"gang.gpu_model", [](S& s) { s.mutable_gang()->set_gpu_model(std::string(64, 'a')); },
       [](S& s) { s.mutable_gang()->set_gpu_model(std::string(65, 'a')); }},
      {"cpu", [](S& s) { s.set_cpu("1m"); }, [](S& s) { s.set_cpu("0m"); }},
      {"cpu", [](S& s) { s.set_cpu("1000000"); }, [](S& s) { s.set_cpu("1000001"); }},
      {"memory", [](S& s) { s.set_memory("1Mi"); }, [](S& s) { s.set_memory("1048575"); }},
      {"memory", [](S& s) { s.set_memory("1024Ti"); }, [](S& s) { s.set_memory("1025Ti"); }},
      {"time_limit", [](S& s) { s.set_time_limit("1s"); }, [](S& s) { s.set_time_limit("999ms"); }},
      {"time_limit", [](S& s) { s.set_time_limit("366d"); },
       [](S& s) { s.set_time_limit("366d1us"); }},
      {"grace", [](S& s) { s.set_grace("1h"); }, [](S& s) { s.set_grace("1h1us"); }},
      {"grace", [](S& s) { s.set_grace("9s"), s.set_time_limit("10s"); },
       [](S& s) { s.set_grace("10s"), s.set_time_limit("10s"); }},
      {"retries", [](S& s) { s.set_retries(100); }, [](S& s) { s.set_retries(-1); }},
      {"start_deadline", [](S& s) { s.set_start_deadline("1s"); },
       [](S& s) { s.set_start_deadline("0s"); }},
      {"name", [](S& s) { s.set_name(std::string(253, 'a')); },
       [](S& s) { s.set_name(std::string(254, 'a')); }},
      {"labels.k", [](S& s) { (*s.mutable_labels())["k"] = std::string(253, 'a'); },
       [](S& s) { (*s.mutable_labels())["k"] = std::string(254, 'a'); }},
      {"args[0]", [](S& s) { s.add_args(std::string(131'071, 'a')); },
       [](S& s) { s.add_args(std::string(131'072, 'a')); }},
      {"env.AB", [](S& s) { (*s.mutable_env())["AB"] = std::string(131'068, 'a'); },
       [](S& s) { (*s.mutable_env())["AB"] = std::string(131'069, 'a'); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.field);
    v1::JobSpec spec = minimal();
    row.good(spec);
    EXPECT_THAT(faulty_fields(spec), SizeIs(0));
    spec = minimal();
    row.bad(spec);
    EXPECT_THAT(faulty_fields(spec), ElementsAre(row.field));
  }
}

TEST(Spec, there_may_not_be_too_many_of_anything) {
  v1::JobSpec spec = minimal();
  for (int i = 0; i < 65; ++i) (*spec.mutable_labels())["l" + std::to_string(i)] = "";
  for (int i = 0; i < 4097; ++i) spec.add_args("");
  for (int i = 0; i < 1025; ++i) (*spec.mutable_env())["E" + std::to_string(i)] = "";
  for (int i = 0; i < 257; ++i) add_file(spec, "f" + std::to_string(i));
  EXPECT_THAT(faulty_fields(spec), ElementsAre("labels", "args", "env", "files"));
  v1::JobSpec large = minimal();
  for (int i = 0; i < 3; ++i) large.add_args(std::string(100'000, 'a'));
  EXPECT_THAT(faulty_fields(large), ElementsAre("spec"));
}

TEST(Spec, text_is_utf8_without_nul) {
  for (const std::string& bad : {std::string("a\0b", 3), std::string("\xff")}) {
    v1::JobSpec spec;
    spec.set_name(bad);
    (*spec.mutable_labels())["k"] = bad;
    (*spec.mutable_labels())["l" + bad] = "x";
    spec.set_program("x" + bad);
    spec.add_args(bad);
    (*spec.mutable_env())["A"] = bad;
    add_file(spec, bad);
    EXPECT_EQ(faulty_fields(spec).size(), 7u);
  }
}

TEST(Spec, variables_of_the_platform_are_refused) {
  for (const char* name :
       {"KEEL_JOB_ID", "KEEL_", "CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
        "RANK", "LOCAL_RANK", "NODE_RANK", "LOCAL_WORLD_SIZE", "", "A-B", "A=B", "É", "1", "A B"}) {
    v1::JobSpec spec = minimal();
    (*spec.mutable_env())[name] = "1";
    EXPECT_THAT(faulty_fields(spec), ElementsAre("env." + std::string(name)));
  }
  for (const char* name : {"_", "keel_x", "RANKS", "A1", "PATH"}) {
    v1::JobSpec spec = minimal();
    (*spec.mutable_env())[name] = "1";
    EXPECT_THAT(faulty_fields(spec), SizeIs(0)) << name;
  }
}

TEST(Spec, a_file_stays_inside_the_working_directory) {
  for (const char* path :
       {"", "/x", "..", ".", "../x", "a/../x", "a//x", "a/", "./x", "a/.", "a\\x"}) {
    v1::JobSpec spec = minimal();
    add_file(spec, path);
    EXPECT_THAT(faulty_fields(spec), ElementsAre("files[0].path")) << path;
  }
  for (const char* path : {"x", "a/b/c", "..x", "x..", ".x", "a b", "é"}) {
    v1::JobSpec spec = minimal();
    add_file(spec, path);
    EXPECT_THAT(faulty_fields(spec), SizeIs(0)) << path;
  }
}

TEST(Spec, two_files_do_not_lie_at_one_place_nor_inside_each_other) {
  v1::JobSpec spec = minimal();
  add_file(spec, "a");
  add_file(spec, "a");
  EXPECT_THAT(faulty_fields(spec), ElementsAre("files[1].path"));
  spec = minimal();
  add_file(spec, "a/b/c");
  add_file(spec, "a-b");
  add_file(spec, "a");
  EXPECT_THAT(faulty_fields(spec), ElementsAre("files"));
}

TEST(Spec, a_file_comes_by_its_digest_and_not_by_a_local_path) {
  v1::JobSpec spec = minimal();
  add_file(spec, "a");
  spec.mutable_files(0)->set_digest("abc");
  EXPECT_THAT(faulty_fields(spec), ElementsAre("files[0].digest"));
  spec.mutable_files(0)->clear_digest();
  spec.mutable_files(0)->set_from("/etc/passwd");
  EXPECT_THAT(faulty_fields(spec), ElementsAre("files[0].from"));
  spec.mutable_files(0)->set_digest(digest_text);
  EXPECT_THAT(faulty_fields(spec), ElementsAre("files[0].from"));
}

TEST(Spec, a_program_that_is_taken_along_is_among_the_files_and_executable) {
  v1::JobSpec spec;
  spec.set_program("./train");
  EXPECT_THAT(faulty_fields(spec), ElementsAre("program"));
  add_file(spec, "train", false);
  EXPECT_THAT(faulty_fields(spec), ElementsAre("program"));
  spec.mutable_files(0)->set_executable(true);
  EXPECT_THAT(faulty_fields(spec), SizeIs(0));
  for (const char* program : {"", "dir/x", ".", "..", "../x", "./", ".//train"}) {
    spec.set_program(program);
    EXPECT_THAT(faulty_fields(spec), ElementsAre("program")) << program;
  }
  for (const char* program : {"python3", "/usr/bin/env", "..."}) {
    spec.set_program(program);
    EXPECT_THAT(faulty_fields(spec), SizeIs(0)) << program;
  }
}

TEST(Spec, faults_are_safe_to_show) {
  v1::JobSpec spec = minimal();
  spec.set_cpu("\x1b[2J" + std::string(1000, 'x'));
  const auto said = parse_spec(spec);
  ASSERT_THAT(said.error(), SizeIs(1));
  EXPECT_THAT(said.error()[0].value, HasSubstr("\\x1b[2Jxxx"));
  EXPECT_LE(said.error()[0].value.size(), 90u);
}

TEST(Spec, the_limit_of_a_number_is_the_one_by_which_it_is_refused) {
  v1::JobSpec spec = minimal();
  spec.mutable_gang()->set_tasks(-1);
  spec.mutable_gang()->set_gpus_per_task(-1);
  spec.set_retries(-1);
  const auto refused = parse_spec(spec);
  ASSERT_FALSE(refused.has_value());
  ASSERT_THAT(refused.error(), SizeIs(3));
  for (const FieldError& error : refused.error()) {
    EXPECT_EQ(error.limit, number_limit(error.field)) << error.field;
  }
  EXPECT_EQ(number_limit("gang.tasks"), "1 to 4096");
  EXPECT_EQ(number_limit("name"), "");
}

}  // namespace
}  // namespace keel
