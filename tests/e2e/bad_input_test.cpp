// What is wrong is refused with the field, the value and the limit; nothing is stored, and the
// control plane lives.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

// What the answer must say; an empty text is in every answer.
struct Fault {
  std::string field;
  std::string value;
  std::string limit;
};

struct Row {
  std::string name;
  std::string body;
  int status{};
  Fault fault{};
};

std::string spec(const std::string& fields) {
  return R"({"spec": {"program": "true", )" + fields + "}}";
}

const std::vector<Row>& bad_submissions() {
  static const std::string big(10 << 20, 'x');
  static const std::vector<Row> rows = {
      {"no JSON", "program: true", 400},
      {"an empty body", "", 400},
      {"null", "null", 400},
      {"a list", "[]", 400},
      {"nothing said", "{}", 400, {"program", "", ""}},
      {"null as a spec", R"({"spec": null})", 400, {}},
      {"two documents", R"({"spec": {"program": "true"}} {})", 400},
      {"a field twice", spec(R"("retries": 1, "retries": 2)"), 400, {"retries", "", ""}},
      {"an unknown field", spec(R"("progam": "x")"), 400, {"progam", "", ""}},
      {"an unknown field in the gang", spec(R"("gang": {"task": 2})"), 400, {"task", "", "tasks"}},
      {"text for a number", spec(R"("gang": {"tasks": "many"})"), 400, {"gang.tasks", "many", ""}},
      {"a list for a text", spec(R"("name": ["a"])"), 400, {"name", "", ""}},
      {"a text for a list", spec(R"("args": "a")"), 400, {"args", "", ""}},
      {"a number with a part", spec(R"("gang": {"tasks": 1.5})"), 400, {"gang.tasks", "1.5", ""}},
      {"0 tasks", spec(R"("gang": {"tasks": 0})"), 400, {"gang.tasks", "0", "1 to 4096"}},
      {"-1 tasks", spec(R"("gang": {"tasks": -1})"), 400, {"gang.tasks", "-1", "1 to 4096"}},
      {"-1 GPUs",
       spec(R"("gang": {"gpus_per_task": -1})"),
       400,
       {"gang.gpus_per_task", "-1", "0 to 1024"}},
      {"10^18 GPUs",
       spec(R"("gang": {"gpus_per_task": 1000000000000000000})"),
       400,
       {"gang.gpus_per_task", "1000000000000000000", "0 to 1024"}},
      {"10^30 GPUs",
       spec(R"("gang": {"gpus_per_task": 1000000000000000000000000000000})"),
       400,
       {"gang.gpus_per_task", "", ""}},
      {"-1 retries", spec(R"("retries": -1)"), 400, {"retries", "-1", "0 to 100"}},
      {"time without a unit",
       spec(R"("time_limit": "5 parsecs")"),
       400,
       {"time_limit", "5 parsecs", ""}},
      {"no memory", spec(R"("memory": "0")"), 400, {"memory", "0", ""}},
      {"invalid UTF-8", spec("\"name\": \"\xff\xfe\""), 400},
      {"a NUL in an argument", spec(R"("args": ["a\u0000b"])"), 400, {"args[0]", "", "NUL"}},
      {"a program that was not taken along",
       R"({"spec": {"program": "./train"}})",
       400,
       {"program", "./train", "files"}},
      {"a file that nobody uploaded",
       spec(R"("files": [{"path": "a", "digest": ")" + std::string(64, 'a') + R"("}])"),
       400,
       {"files[0].digest", std::string(64, 'a'), ""}},
      {"a way out of the directory",
       spec(R"("files": [{"path": "../a", "digest": ")" + std::string(64, 'a') + R"("}])"),
       400,
       {"files[0].path", "../a", ""}},
      {"a platform's variable", spec(R"("env": {"RANK": "7"})"), 400, {"env.RANK", "7", ""}},
      {"10 MiB", spec(R"("name": ")" + big + "\""), 413, {"body", "", "1048576"}},
      {"300 kB of arguments",
       spec(R"("args": [")" + big.substr(0, 300'000) + R"("])"),
       400,
       {"", "300", ""}},
  };
  return rows;
}

void expect_refused(const Platform& platform, const Request& request, const Row& row) {
  SCOPED_TRACE(row.name);
  const auto answer = ask(platform.socket(), request);
  ASSERT_TRUE(answer) << "no answer";
  EXPECT_EQ(answer->status, row.status) << answer->body;
  const Json error = answer->json()["error"];
  ASSERT_TRUE(error.is_object()) << answer->body;
  EXPECT_FALSE(error.value("help", "").empty()) << "says nothing for people: " << error;
  for (const std::string& word : {row.fault.field, row.fault.value, row.fault.limit}) {
    EXPECT_NE(answer->body.find(word), std::string::npos) << word << " is not in " << error;
  }
}

void expect_nothing_happened(const Platform& platform) {
  EXPECT_EQ(platform.get("/healthz").status, 200);
  EXPECT_EQ(platform.count_jobs(), 0u);
}

TEST(BadInput, in_a_submission_is_refused_and_nothing_is_stored) {
  Platform platform;
  platform.start_keeld();
  for (const Row& row : bad_submissions()) {
    expect_refused(platform, {.method = "POST", .target = "/v1/jobs", .body = row.body}, row);
    if (testing::Test::HasFatalFailure()) break;
  }
  expect_nothing_happened(platform);
  EXPECT_EQ(platform.state(platform.submit(platform.shell("true"))), "queued");
}

TEST(BadInput, in_methods_paths_and_queries_is_refused) {
  struct Call {
    std::string method;
    std::string target;
    int status{};
  };
  Platform platform;
  platform.start_keeld();
  const std::vector<Call> calls = {
      {"DELETE", "/v1/jobs", 405},
      {"BREW", "/v1/jobs", 405},
      {"GET", "/v1/jobs/last:cancel", 405},
      {"GET", "/", 404},
      {"GET", "/v2/jobs", 404},
      {"GET", "/v1/../healthz", 404},
      {"GET", "/v1/jobs/0000000000000", 404},
      {"GET", "/v1/jobs/no-id", 404},
      {"GET", "/v1/jobs/last", 404},
      {"POST", "/v1/jobs/0000000000000:cancel", 404},
      {"GET", "/v1/jobs?limit=-1", 400},
      {"GET", "/v1/jobs?limit=1001", 400},
      {"GET", "/v1/jobs?limit=x", 400},
      {"GET", "/v1/jobs?colour=red", 400},
      {"GET", "/v1/jobs?user=%ff", 400},
      {"GET", "/v1/jobs/%ff", 400},
      {"GET", "/v1/jobs/a%", 400},
  };
  for (const Call& call : calls) {
    expect_refused(platform, {.method = call.method, .target = call.target},
                   {call.method + " " + call.target, "", call.status});
  }
  expect_nothing_happened(platform);
}

TEST(BadInput, as_a_program_that_does_not_exist_fails_the_job_and_names_it) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  Json absent = platform.shell("");
  for (const std::string program : {"/no/such/program", "no-such-program"}) {
    absent["program"] = program;
    const Json job = platform.await_end(platform.submit(absent));
    EXPECT_EQ(job["state"], "failed") << job;
    EXPECT_EQ(job["reason"], "program_not_started") << job;
    EXPECT_NE(job["tasks"][0]["exit"].dump().find(program), std::string::npos) << job;
  }
  EXPECT_TRUE(platform.agent().is_running());
}

// A job file, and what the command line must say of it.
struct File {
  std::string name;
  std::string content;
  std::vector<std::string> says;
};

TEST(BadInput, in_a_job_file_is_refused_by_the_command_line_and_nothing_is_stored) {
  Platform platform;
  platform.start_keeld();
  const std::vector<File> job_files = {
      {"no YAML", "program: [true\n  name: \"x", {}},
      {"empty", "", {"program"}},
      {"null", "null\n", {}},
      {"a list", "- program: true\n", {}},
      {"just text", "hello\n", {}},
      {"an unknown field", "progam: /bin/true\n", {"progam", "program"}},
      {"a key twice", "program: a\nprogram: b\n", {"program"}},
      {"the wrong type", "program: /bin/true\ngang: {tasks: many}\n", {"gang.tasks", "many"}},
      {"0 tasks", "program: /bin/true\ngang: {tasks: 0}\n", {"gang.tasks", "0", "1 to 4096"}},
      {"-1 GPUs",
       "program: /bin/true\ngang: {gpus_per_task: -1}\n",
       {"gang.gpus_per_task", "-1", "0 to 1024"}},
      {"10^18 GPUs",
       "program: /bin/true\ngang: {gpus_per_task: 1000000000000000000}\n",
       {"gang.gpus_per_task", "1000000000000000000", "0 to 1024"}},
      {"a program that is not there", "program: ./not-there\n", {"program", "/not-there"}},
      {"invalid UTF-8", "program: /bin/true\nname: \"\xff\xfe\"\n", {}},
      {"a NUL", std::string("program: /bin/true\nname: \"a\0b\"\n", 31), {}},
      {"10 MiB", "program: /bin/true\nname: " + std::string(10 << 20, 'x') + "\n", {}},
      {"a bomb of aliases",
       "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\n"
       "d: &d [*c,*c,*c,*c,*c,*c,*c]\nprogram: /bin/true\nargs: [*d,*d,*d,*d,*d,*d,*d,*d]\n",
       {}},
  };
  for (const File& file : job_files) {
    SCOPED_TRACE(file.name);
    std::ofstream(platform.path("job.yaml")) << file.content;
    const Ran ran = run({PROGRAM_DIR "/keel", "--socket", platform.path("keel.sock"), "submit",
                         "-f", platform.path("job.yaml")},
                        platform.path("keel-cli"));
    EXPECT_NE(ran.code, 0) << ran.output;
    EXPECT_LT(ran.code, 126) << "not refused, but died: " << ran.output;
    EXPECT_FALSE(ran.output.empty());
    EXPECT_LT(ran.output.size(), 5'000u) << "says too much";
    for (const std::string& word : file.says) {
      EXPECT_NE(ran.output.find(word), std::string::npos) << word << " is not in " << ran.output;
    }
  }
  expect_nothing_happened(platform);
}

}  // namespace
}  // namespace keel::e2e
