// The program as its users see it: processes, exit codes, files.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "child.h"

namespace keel::digits {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// A sanitised build on a busy core takes seconds; a hang takes all of it.
constexpr milliseconds patience = 100s;
constexpr double wanted_accuracy = 0.95;
// Promised in README.md. One sample of the test split is 0.0028.
constexpr double tolerance = 0.005;

// The figure of the last line "test accuracy 0.9xxx"; negative where that is not the last line.
double test_accuracy(const std::string& output) {
  const std::string words = "test accuracy ";
  const std::size_t at = output.rfind(words);
  if (at == std::string::npos || output.find('\n', at) + 1 != output.size()) return -1;
  return std::strtod(output.c_str() + at + words.size(), nullptr);
}

// The step named by the first "<words>N"; -1 where there is none.
long step_after(const std::string& output, const std::string& words) {
  const std::size_t at = output.find(words);
  return at == std::string::npos ? -1
                                 : std::strtol(output.c_str() + at + words.size(), nullptr, 10);
}

class Digits : public testing::Test {
 protected:
  // One task, or one of a gang that meets at `port_`. All share the folder of checkpoints.
  Child start(std::vector<std::string> arguments, std::size_t rank = 0, std::size_t world = 1) {
    const std::string name = std::to_string(starts_++);
    const std::string output = folder_ / ("output" + name);
    std::filesystem::create_directory(output);
    last_output_ = output;
    Variables variables = {{"KEEL_OUTPUT_DIR", output},
                           {"KEEL_CHECKPOINT_DIR", folder_ / "checkpoints"}};
    if (world > 1) {
      variables.merge(Variables{{"MASTER_ADDR", "127.0.0.1"},
                                {"MASTER_PORT", std::to_string(port_.number())},
                                {"WORLD_SIZE", std::to_string(world)},
                                {"RANK", std::to_string(rank)},
                                {"NODE_RANK", std::to_string(rank)},
                                {"LOCAL_RANK", "0"},
                                {"LOCAL_WORLD_SIZE", "1"}});
    }
    return Child({.arguments = std::move(arguments), .variables = variables},
                 folder_ / ("log" + name));
  }

  std::vector<Child> start_gang(std::size_t world, const std::vector<std::string>& arguments) {
    std::vector<Child> gang;
    for (std::size_t rank = 0; rank < world; ++rank) gang.push_back(start(arguments, rank, world));
    return gang;
  }

  // Runs a gang to its end and gives rank 0's test accuracy.
  double accuracy_of_gang(std::size_t world, const std::vector<std::string>& arguments) {
    std::vector<Child> gang = start_gang(world, arguments);
    for (Child& task : gang) EXPECT_EQ(task.wait(patience), 0) << task.output();
    return test_accuracy(gang[0].output());
  }

  std::string checkpoint_path() { return folder_ / "checkpoints/digits.checkpoint"; }

  void forget_checkpoint() { std::filesystem::remove(checkpoint_path()); }

  TestFolder folder_;
  HeldPort port_;
  int starts_ = 0;
  std::string last_output_;
};

TEST_F(Digits, one_task_reaches_95_percent_on_the_test_split_and_leaves_its_results) {
  Child task = start({});
  ASSERT_EQ(task.wait(patience), 0) << task.output();
  EXPECT_GE(test_accuracy(task.output()), wanted_accuracy) << task.output();
  EXPECT_GT(std::filesystem::file_size(last_output_ + "/model.bin"), 1000U);
  const std::string metrics = contents(last_output_ + "/metrics.json");
  EXPECT_NE(metrics.find("\"test_accuracy\": 0.9"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("\"epochs\": 20, \"world_size\": 1, \"seconds\": "), std::string::npos)
      << metrics;
}

TEST_F(Digits, two_and_three_tasks_agree_with_one_within_the_tolerance) {
  const double alone = accuracy_of_gang(1, {});
  forget_checkpoint();
  const double two = accuracy_of_gang(2, {});
  forget_checkpoint();
  const double three = accuracy_of_gang(3, {});
  EXPECT_GE(two, wanted_accuracy);
  EXPECT_NEAR(two, alone, tolerance);
  EXPECT_NEAR(three, alone, tolerance);
}

TEST_F(Digits, without_all_reduce_two_tasks_miss_95_percent_by_far) {
  const double accuracy = accuracy_of_gang(2, {"--no-all-reduce"});
  EXPECT_GT(accuracy, 0.3);  // Half of the classes are learnt.
  EXPECT_LT(accuracy, 0.7);
}

TEST_F(Digits, the_same_run_twice_gives_the_same_model_bit_by_bit) {
  const auto model_of_two_tasks = [this] {
    std::vector<Child> gang;
    gang.push_back(start({"--epochs", "3"}, 0, 2));
    const std::string output = last_output_;
    gang.push_back(start({"--epochs", "3"}, 1, 2));
    for (Child& task : gang) EXPECT_EQ(task.wait(patience), 0) << task.output();
    forget_checkpoint();
    return contents(output + "/model.bin");
  };
  const std::string first = model_of_two_tasks();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, model_of_two_tasks());
}

TEST_F(Digits, sigterm_leaves_a_checkpoint_from_which_the_next_run_ends_as_if_never_stopped) {
  Child whole = start({});
  ASSERT_EQ(whole.wait(patience), 0) << whole.output();
  const std::string model = contents(last_output_ + "/model.bin");
  forget_checkpoint();

  // Without interval checkpoints, so that what is found is what SIGTERM left.
  Child stopped = start({"--pause-ms", "100", "--checkpoint-every", "0"});
  ASSERT_TRUE(stopped.says("epoch 3/20", patience)) << stopped.output();
  stopped.signal(SIGTERM);
  ASSERT_EQ(stopped.wait(5s), 143) << stopped.output();
  const long saved = step_after(stopped.output(), "checkpoint saved at step ");
  EXPECT_GE(saved, 120);  // 3 epochs of 40 steps.

  Child resumed = start({});
  ASSERT_EQ(resumed.wait(patience), 0) << resumed.output();
  EXPECT_EQ(step_after(resumed.output(), "resumed from checkpoint at step "), saved);
  EXPECT_EQ(resumed.output().find("epoch 1/20"), std::string::npos);
  EXPECT_GE(test_accuracy(resumed.output()), wanted_accuracy);
  EXPECT_EQ(contents(last_output_ + "/model.bin"), model);
}

TEST_F(Digits, sigterm_in_the_midst_of_an_epoch_loses_no_step_of_it) {
  const std::vector<std::string> settings = {"--batch", "1", "--hidden", "8", "--checkpoint-every",
                                             "0"};
  const auto with_epochs = [&settings](long epochs) {
    std::vector<std::string> arguments = settings;
    arguments.insert(arguments.end(), {"--epochs", std::to_string(epochs)});
    return arguments;
  };
  Child stopped = start(with_epochs(100'000));
  ASSERT_TRUE(stopped.says("epoch 1/", patience)) << stopped.output();
  stopped.signal(SIGTERM);
  ASSERT_EQ(stopped.wait(5s), 143) << stopped.output();
  const long saved = step_after(stopped.output(), "checkpoint saved at step ");
  ASSERT_GT(saved, 1262);
  const long epochs = saved / 1262 + 1;

  Child resumed = start(with_epochs(epochs));
  ASSERT_EQ(resumed.wait(patience), 0) << resumed.output();
  const std::string model = contents(last_output_ + "/model.bin");
  forget_checkpoint();
  Child whole = start(with_epochs(epochs));
  ASSERT_EQ(whole.wait(patience), 0) << whole.output();
  EXPECT_EQ(contents(last_output_ + "/model.bin"), model);
}

TEST_F(Digits, sigterm_to_one_task_stops_the_gang_and_both_resume_at_the_same_step) {
  std::vector<Child> gang = start_gang(2, {"--pause-ms", "2000", "--checkpoint-every", "0"});
  ASSERT_TRUE(gang[0].says("epoch 1/20", patience)) << gang[0].output();
  gang[1].signal(SIGTERM);
  for (Child& task : gang) ASSERT_EQ(task.wait(5s), 143) << task.output();
  const long saved = step_after(gang[0].output(), "checkpoint saved at step ");
  EXPECT_GT(saved, 0);

  gang = start_gang(2, {});
  for (Child& task : gang) {
    ASSERT_EQ(task.wait(patience), 0) << task.output();
    EXPECT_EQ(step_after(task.output(), "resumed from checkpoint at step "), saved);
  }
  EXPECT_GE(test_accuracy(gang[0].output()), wanted_accuracy);
}

TEST_F(Digits, sigusr1_saves_a_checkpoint_and_the_run_goes_on) {
  Child task = start({"--epochs", "3", "--pause-ms", "500", "--checkpoint-every", "0"});
  ASSERT_TRUE(task.says("epoch 1/3", patience)) << task.output();
  task.signal(SIGUSR1);
  EXPECT_TRUE(task.says("checkpoint saved at step ", 5s)) << task.output();
  EXPECT_TRUE(std::filesystem::exists(checkpoint_path()));
  EXPECT_EQ(task.wait(patience), 0) << task.output();
}

TEST_F(Digits, a_killed_run_resumes_from_its_last_interval_checkpoint) {
  Child killed = start({"--pause-ms", "100", "--checkpoint-every", "10"});
  ASSERT_TRUE(killed.says("epoch 2/20", patience)) << killed.output();
  killed.signal(SIGKILL);
  ASSERT_EQ(killed.wait(5s), 128 + SIGKILL);
  Child resumed = start({"--epochs", "5"});
  ASSERT_EQ(resumed.wait(patience), 0) << resumed.output();
  const long step = step_after(resumed.output(), "resumed from checkpoint at step ");
  EXPECT_GE(step, 80);
  EXPECT_EQ(step % 10, 0);
}

TEST_F(Digits, a_damaged_checkpoint_is_refused_and_training_starts_anew) {
  Child first = start({"--epochs", "6"});
  ASSERT_EQ(first.wait(patience), 0) << first.output();
  std::string bytes = contents(checkpoint_path());
  ASSERT_GT(bytes.size(), 1000U);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(checkpoint_path(), std::ios::binary) << bytes;

  Child second = start({});
  ASSERT_EQ(second.wait(patience), 0) << second.output();
  EXPECT_NE(second.output().find("refused: it is damaged; starting anew"), std::string::npos)
      << second.output();
  EXPECT_NE(second.output().find("epoch 1/20"), std::string::npos);
  EXPECT_GE(test_accuracy(second.output()), wanted_accuracy);
  EXPECT_EQ(contents(checkpoint_path() + ".refused"), bytes);
}

TEST_F(Digits, a_killed_task_ends_the_others_with_an_error_within_ten_seconds) {
  for (const std::size_t victim : {0U, 1U}) {
    SCOPED_TRACE(victim);
    std::vector<Child> gang = start_gang(2, {"--pause-ms", "300"});
    ASSERT_TRUE(gang[0].says("epoch 1/20", patience)) << gang[0].output();
    gang[victim].signal(SIGKILL);
    Child& survivor = gang[1 - victim];
    EXPECT_EQ(survivor.wait(10s), 1) << survivor.output();
    EXPECT_TRUE(survivor.says("rank " + std::to_string(victim) + " is lost", 0ms))
        << survivor.output();
  }
}

TEST_F(Digits, a_frozen_task_ends_the_others_with_an_error_after_the_peer_timeout) {
  std::vector<Child> gang = start_gang(2, {"--pause-ms", "300", "--peer-timeout-ms", "1000"});
  ASSERT_TRUE(gang[0].says("epoch 1/20", patience)) << gang[0].output();
  gang[1].signal(SIGSTOP);
  EXPECT_EQ(gang[0].wait(10s), 1);
  EXPECT_TRUE(gang[0].says("rank 1 is lost: not a word for 1000 ms", 0ms)) << gang[0].output();
}

TEST_F(Digits, sigterm_while_the_gang_assembles_ends_with_143) {
  for (const std::size_t rank : {0U, 1U}) {
    Child lonely = start({}, rank, 2);
    ASSERT_TRUE(lonely.says("of 2 (node", patience)) << lonely.output();
    std::this_thread::sleep_for(100ms);
    lonely.signal(SIGTERM);
    EXPECT_EQ(lonely.wait(5s), 143) << lonely.output();
  }
}

TEST_F(Digits, a_missing_test_split_is_noticed_only_after_training) {
  std::string bytes = contents(DIGITS_DATA);
  constexpr std::size_t test_split_bytes = 355 * 65;
  bytes.resize(bytes.size() - test_split_bytes);
  const std::string path = folder_ / "without_test.bin";
  std::ofstream(path, std::ios::binary) << bytes;
  Child task = start({"--data", path, "--epochs", "2"});
  EXPECT_EQ(task.wait(patience), 1) << task.output();
  EXPECT_TRUE(task.says("epoch 2/2", 0ms)) << task.output();
  EXPECT_TRUE(task.says("it is too short", 0ms)) << task.output();
}

TEST_F(Digits, a_bad_flag_ends_with_2_and_names_flag_value_and_limit) {
  Child task = start({"--epochs", "0"});
  EXPECT_EQ(task.wait(patience), 2) << task.output();
  EXPECT_EQ(task.output(), "digits: --epochs is '0': it must be a whole number from 1 to 100000\n");
}

TEST_F(Digits, help_lists_the_flags_and_ends_with_0) {
  Child task = start({"--help"});
  EXPECT_EQ(task.wait(patience), 0) << task.output();
  EXPECT_NE(task.output().find("--no-all-reduce"), std::string::npos);
}

}  // namespace
}  // namespace keel::digits
