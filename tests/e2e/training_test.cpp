// A job that really trains, by way of REST.
#include <gtest/gtest.h>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

TEST(Training, by_a_gang_of_two_learns_digits_and_commits_its_outputs) {
  Platform platform;
  platform.start_keeld();
  platform.start_agent();
  const std::string program = platform.put_file(contents(PROGRAM_DIR "/digits"));
  const std::string digits =
      platform.put_file(contents(SOURCE_DIR "/examples/digits/data/digits.bin"));
  const Json spec = {{"program", "./digits"},
                     {"args", {"--data", "digits.bin", "--peer-timeout-ms", "60000"}},
                     {"files",
                      {{{"path", "digits"}, {"digest", program}, {"executable", true}},
                       {{"path", "digits.bin"}, {"digest", digits}}}},
                     {"gang", {{"tasks", 2}, {"gpus_per_task", 1}}},
                     {"env", {{"E2E_MARK", platform.mark()}}}};
  const std::string job = platform.submit(spec);
  const Json ended = platform.await_end(job);
  const auto log = platform.log(job);
  EXPECT_EQ(ended["state"], "succeeded") << ended << Json(log) << Json(platform.log(job, 1));
  ASSERT_FALSE(log.empty());
  EXPECT_TRUE(log.back().starts_with("test accuracy 0.9")) << log.back();

  const std::string outputs = platform.agent_state() + "/outputs/" + job + "/task-0/";
  const Json metrics = Json::parse(contents(outputs + "metrics.json"), nullptr, false);
  ASSERT_TRUE(metrics.is_object()) << contents(outputs + "metrics.json");
  EXPECT_GE(metrics.value("test_accuracy", 0.0), 0.95) << metrics;
  EXPECT_FALSE(contents(outputs + "model.bin").empty());
  const Json view = platform.view(job);
  for (const std::string model : view["gpu_models"]) {
    EXPECT_TRUE(model.starts_with("emulated:")) << model;
  }
}

}  // namespace
}  // namespace keel::e2e
