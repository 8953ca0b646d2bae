#include "apps/keel/request.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "model/limits.h"

namespace keel::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

class RequestTest : public testing::Test {
 protected:
  RequestTest() {
    std::string pattern = (fs::temp_directory_path() / "keel-request-XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
    here_ = home_ / "project";
    fs::create_directories(here_ / "sub");
    write(here_ / "train", "#!/bin/sh\n", true);
    write(here_ / "train.py", "print(1)", false);
    write(here_ / "sub" / "x.bin", "x", false);
    write(home_ / "outside", "#!/bin/sh\nexit 1\n", false);
    write(home_ / "bin" / "tool", "#!/bin/sh\n", true);
  }
  ~RequestTest() override {
    std::error_code error;
    fs::remove_all(home_, error);
  }

  static void write(const fs::path& path, const std::string& content, bool executable) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    ::chmod(path.c_str(), executable ? 0755 : 0644);
  }

  Result<Plan, std::vector<FieldError>> plan(const Said& said) {
    return plan_submission(said,
                           {.directory = here_, .path = "/nowhere:" + (home_ / "bin").string()});
  }
  Result<Plan, std::vector<FieldError>> plan_words(std::vector<std::string> words) {
    return plan(Said{.words = std::move(words)});
  }
  Result<Plan, std::vector<FieldError>> plan_file(const std::string& text) {
    write(here_ / "sub" / "job.yaml", text, false);
    return plan(Said{.file = "sub/job.yaml"});
  }

  // path (x where executable), as it will lie in the working directory
  static std::vector<std::string> taken(const Result<Plan, std::vector<FieldError>>& plan) {
    std::vector<std::string> taken;
    if (!plan) return {"refused: " + plan.error().front().field};
    for (const v1::TakenFile& file : plan->spec.files()) {
      EXPECT_EQ(file.from(), "");
      taken.push_back(file.path() + (file.executable() ? " x" : ""));
    }
    return taken;
  }
  static FieldError only(const Result<Plan, std::vector<FieldError>>& plan) {
    EXPECT_FALSE(plan.has_value());
    if (plan) return {};
    EXPECT_THAT(plan.error(), SizeIs(1));
    return plan.error().front();
  }

  fs::path home_, here_;
};

TEST_F(RequestTest, a_program_of_ones_own_is_taken_along) {
  const auto plan = plan_words({"./train", "--epochs", "3"});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->spec.program(), "./train");
  EXPECT_THAT(plan->spec.args(), ElementsAre("--epochs", "3"));
  EXPECT_THAT(taken(plan), ElementsAre("train x"));
  ASSERT_THAT(plan->uploads, SizeIs(1));
  EXPECT_EQ(plan->uploads[0].digest, sha256("#!/bin/sh\n"));
  EXPECT_EQ(plan->spec.files(0).digest(), print(sha256("#!/bin/sh\n")));
}

TEST_F(RequestTest, a_program_elsewhere_is_taken_along_under_its_own_name) {
  EXPECT_THAT(taken(plan_words({"../outside"})), ElementsAre("outside x"));
  EXPECT_EQ(plan_words({"../outside"})->spec.program(), "./outside");
  EXPECT_THAT(taken(plan_words({(home_ / "outside").string()})), ElementsAre("outside x"));
  EXPECT_THAT(taken(plan_words({(here_ / "train").string()})), ElementsAre("train x"));
}

TEST_F(RequestTest, a_program_of_the_system_is_a_path_on_the_node) {
  const auto plan = plan_words({"/bin/sh", "-c", "exit 0"});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->spec.program(), "/bin/sh");
  EXPECT_THAT(plan->uploads, IsEmpty());
}

TEST_F(RequestTest, files_that_arguments_name_are_taken_along) {
  const auto plan =
      plan_words({"tool", "train.py", "./sub/x.bin", "sub", "../outside", "/etc/passwd"});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->spec.program(), "tool");
  EXPECT_THAT(taken(plan), ElementsAre("train.py", "sub/x.bin"));
  EXPECT_EQ(plan->spec.args(1), "./sub/x.bin");
}

TEST_F(RequestTest, a_program_that_does_not_exist_is_an_error_with_field_and_value) {
  for (const char* program :
       {"no-such-program", "./no-such", "/no/such", "sub/no", "./sub", "/usr"}) {
    const FieldError error = only(plan_words({program}));
    EXPECT_EQ(error.field, "program");
    EXPECT_EQ(error.value, program);
    EXPECT_NE(error.help, "");
  }
  EXPECT_THAT(only(plan_words({"train"})).help, HasSubstr("./train"));
}

TEST_F(RequestTest, two_files_do_not_get_one_place) {
  write(here_ / "sub" / "train", "other", true);
  EXPECT_EQ(only(plan_words({"./sub/train", "train"})).field, "files");
}

TEST_F(RequestTest, a_file_that_is_too_large_or_no_file_is_refused) {
  write(here_ / "large", "", false);
  fs::resize_file(here_ / "large", limits::file_bytes_max + 1);
  EXPECT_THAT(only(plan_words({"./large"})).help, HasSubstr("larger"));
  ASSERT_EQ(::mkfifo((here_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(only(plan(Said{.files = {"pipe"}, .words = {"./train"}})).help,
              HasSubstr("It is not a regular file."));
}

TEST_F(RequestTest, options_are_judged_like_fields_of_a_job_file) {
  Said said{.fields = {{"gang.gpus_per_task", "abc"}}, .words = {"./train"}};
  EXPECT_EQ(only(plan(said)).field, "--gpus");
  EXPECT_EQ(only(plan(said)).limit, "0 to 1024");
  said.fields = {{"gang.gpus_per_task", "1000000000000000000"}};
  EXPECT_EQ(only(plan(said)).limit, "0 to 1024");
  said.fields = {{"gang.gpus_per_task", "2"}, {"gang.tasks", "3"}, {"time_limit", "1h"}};
  EXPECT_EQ(plan(said)->spec.gang().tasks(), 3);
  EXPECT_EQ(plan(said)->spec.time_limit(), "1h");
  said.fields = {{"name", "12"}};
  EXPECT_EQ(plan(said)->spec.name(), "12");
}

TEST_F(RequestTest, variables_come_from_here_where_no_value_is_given) {
  ::setenv("KEEL_REQUEST_TEST", "x=y", 1);
  ::unsetenv("KEEL_REQUEST_UNSET");
  Said said{.env = {"A=1=2", "B="}, .labels = {"team=vision"}, .words = {"./train"}};
  const auto plan_ = plan(said);
  ASSERT_TRUE(plan_.has_value());
  EXPECT_EQ(plan_->spec.env().at("A"), "1=2");
  EXPECT_EQ(plan_->spec.env().at("B"), "");
  EXPECT_EQ(plan_->spec.labels().at("team"), "vision");
  said.env = {"HOME"};
  EXPECT_EQ(plan(said)->spec.env().at("HOME"), std::getenv("HOME") ? std::getenv("HOME") : "");
  said.env = {"KEEL_REQUEST_UNSET"};
  EXPECT_EQ(only(plan(said)).help, "It is not set here.");
  said.env = {};
  said.labels = {"team"};
  EXPECT_EQ(only(plan(said)).field, "labels");
}

TEST_F(RequestTest, a_name_that_is_given_twice_is_refused) {
  const FieldError variable = only(plan(Said{.env = {"E=1", "F=1", "E=2"}, .words = {"./train"}}));
  EXPECT_EQ(variable.field, "--env");
  EXPECT_EQ(variable.value, "E=2");
  EXPECT_EQ(variable.help, "\"E\" is given twice.");
  EXPECT_EQ(only(plan(Said{.labels = {"a=1", "a=2"}, .words = {"./train"}})).field, "--label");
  EXPECT_EQ(only(plan_file("program: sh\nenv: {A: 1}\nenv:\n  B: 2\n")).value,
            "given on line 2 and again on line 3");
  // An option decides what a job file says otherwise.
  write(here_ / "job.yaml", "program: sh\nenv: {E: 1}\n", false);
  EXPECT_EQ(plan(Said{.file = "job.yaml", .env = {"E=2"}})->spec.env().at("E"), "2");
}

TEST_F(RequestTest, paths_of_a_job_file_are_relative_to_it) {
  const auto plan = plan_file(
      "program: ./go\nfiles:\n- {path: go, from: ../train.py}\n- {path: data/x, from: x.bin}\n");
  ASSERT_TRUE(plan.has_value()) << plan.error()[0].help;
  EXPECT_THAT(taken(plan), ElementsAre("go x", "data/x"));
  EXPECT_EQ(plan->uploads[0].from, here_ / "train.py");
}

TEST_F(RequestTest, a_job_file_may_leave_out_what_can_be_guessed) {
  write(here_ / "sub" / "go", "#!/bin/sh\n", true);
  EXPECT_THAT(taken(plan_file("program: ./go\n")), ElementsAre("go x"));
  EXPECT_THAT(taken(plan_file("program: ./go\nfiles: [{path: x.bin}, {from: ../train.py}]")),
              ElementsAre("x.bin", "train.py", "go x"));
  EXPECT_THAT(plan_file("program: sh\n")->uploads, IsEmpty());
}

TEST_F(RequestTest, a_file_that_is_missing_is_named_as_it_was_written_and_where_it_was_looked_for) {
  const FieldError program = only(plan_file("program: ./not-there\n"));
  EXPECT_EQ(program.field, "program");
  EXPECT_EQ(program.value, "./not-there");
  EXPECT_EQ(program.help, (here_ / "sub" / "not-there").string() + ": No such file or directory.");
  const FieldError file = only(plan_file("program: sh\nfiles: [{path: x, from: ../not-there}]\n"));
  EXPECT_EQ(file.field, "files[0]");
  EXPECT_EQ(file.value, "../not-there");
  EXPECT_EQ(file.help, (here_ / "not-there").string() + ": No such file or directory.");
  const FieldError option = only(plan(Said{.files = {"not-there"}, .words = {"./train"}}));
  EXPECT_EQ(option.value, "not-there");
  EXPECT_THAT(option.help, HasSubstr((here_ / "not-there").string()));
}

TEST_F(RequestTest, options_add_to_a_job_file) {
  const auto plan_ = [&] {
    write(here_ / "job.json", R"({"program": "sh", "gang": {"tasks": 2}, "retries": 1})", false);
    return plan(Said{.file = "job.json",
                     .fields = {{"gang.gpus_per_task", "4"}, {"retries", "2"}},
                     .env = {"A=1"}});
  }();
  ASSERT_TRUE(plan_.has_value());
  EXPECT_EQ(plan_->spec.gang().tasks(), 2);
  EXPECT_EQ(plan_->spec.gang().gpus_per_task(), 4);
  EXPECT_EQ(plan_->spec.retries(), 2);
  EXPECT_EQ(plan_->spec.env().at("A"), "1");
}

TEST_F(RequestTest, a_job_file_may_come_through_a_pipe) {
  const auto plan_pipe = [&](const std::string& text) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_GT(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 0);
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    auto plan_ = plan(Said{.file = "/dev/fd/" + std::to_string(ends[0])});
    ::close(ends[0]);
    return plan_;
  };
  // What it names lies in the current directory, not in /dev/fd.
  EXPECT_THAT(taken(plan_pipe("program: ./train\n")), ElementsAre("train x"));
  const FieldError large = only(plan_pipe(std::string(limits::spec_bytes_max + 1, ' ')));
  EXPECT_EQ(large.field, "the file");
  EXPECT_EQ(large.value, "262145 bytes");
  EXPECT_EQ(large.limit, "at most 262144 bytes");
  const FieldError endless = only(plan(Said{.file = "/dev/zero"}));
  EXPECT_EQ(endless.field, "-f");
  EXPECT_EQ(endless.value, "/dev/zero");
  EXPECT_THAT(endless.limit, HasSubstr("at most 262144 bytes"));
}

TEST_F(RequestTest, a_bad_job_file_is_refused_whole) {
  EXPECT_EQ(only(plan(Said{.file = "no-such.yaml"})).field, "-f");
  EXPECT_EQ(only(plan(Said{.file = "sub"})).field, "-f");
  EXPECT_THAT(only(plan_file("program: a\ngang: {taks: 1}")).help, HasSubstr("\"tasks\""));
  EXPECT_EQ(only(plan_file("{\"program\": \"a\",}")).limit, "JSON");
  EXPECT_EQ(only(plan_file("a: [")).limit, "YAML or JSON");
  EXPECT_EQ(only(plan_file(std::string(10 << 20, 'x'))).field, "-f");
  EXPECT_EQ(only(plan_file("program: \"\xff\"")).limit, "UTF-8 text without NUL");
  EXPECT_EQ(only(plan_file("program: ./no-such")).field, "program");
  EXPECT_EQ(only(plan_file("program: sh\nfiles: [{path: ../x, from: x.bin}]")).field,
            "files[0].path");
  EXPECT_EQ(only(plan_file("program: sh\ngang: {gpus_per_task: -1}")).value, "-1");
}

}  // namespace
}  // namespace keel::cli
