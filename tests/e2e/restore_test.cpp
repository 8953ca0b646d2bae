// An older copy of the control plane's data is put back under agents that have gone on since.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

namespace files = std::filesystem;

void stop(Platform& platform) { EXPECT_EQ(platform.keeld().terminate(), 0); }

Json node(const Platform& platform) { return platform.get("/v1/nodes").json()["nodes"][0]["node"]; }

std::string log_of_keeld(const Platform& platform) { return contents(platform.path("keeld.log")); }

// B-F6
TEST(Restore, what_the_copy_does_not_know_runs_on_is_shown_and_nothing_is_given_out_again) {
  Platform platform;
  const std::string data = platform.path("data");
  platform.start_keeld();
  platform.start_agent();
  const std::string before = platform.submit(platform.gang("true", 1, 8));
  EXPECT_EQ(platform.await_end(before)["state"], "succeeded");
  stop(platform);
  files::copy(data, platform.path("copy"), files::copy_options::recursive);
  platform.start_keeld();
  platform.await_ready();
  const std::string lost = platform.submit(platform.gang(note_start + until_told(), 1, 2));
  platform.await_state(lost, "running");
  platform.await_note("starts");
  stop(platform);
  files::remove_all(data);
  files::copy(platform.path("copy"), data, files::copy_options::recursive);

  // Somebody forgets to say so: no job fails of it.
  platform.start_keeld();
  await("a word about it", [&] {
    return log_of_keeld(platform).find("run once with --restored") != std::string::npos;
  });
  const std::string next = platform.submit(platform.gang("true", 1, 1));
  platform.await_reason(next, "fleet_not_heard");
  stop(platform);

  std::vector<std::string> command = platform.keeld_command();
  command.emplace_back("--restored");
  const Ran marked = run(command, platform.path("marked"));
  EXPECT_EQ(marked.code, 0) << marked.output;
  EXPECT_NE(marked.output.find("was put back from an older copy"), std::string::npos);
  platform.start_keeld();
  await("the task that nobody knows of", [&] { return !node(platform)["foreign"].empty(); });
  EXPECT_EQ(node(platform)["foreign"][0]["job"], lost);
  const std::string seen =
      run({PROGRAM_DIR "/keel", "--socket", platform.path("keel.sock"), "nodes"},
          platform.path("seen"))
          .output;
  EXPECT_NE(seen.find("foreign_tasks"), std::string::npos) << seen;
  EXPECT_NE(seen.find("of job " + lost + " runs there"), std::string::npos) << seen;
  EXPECT_EQ(platform.await_reason(next, "restored_lately")["infrastructure_failures"], 0);
  EXPECT_EQ(platform.state(before), "succeeded");

  platform.tell("go");
  await("its end", [&] { return node(platform)["foreign"].empty(); });
  platform.await_nobody_left();
  EXPECT_EQ(lines_of(platform.note("starts")).size(), 1U) << "it ran once, undisturbed";
  await("its files to go", [&] { return files::is_empty(platform.agent_state() + "/tasks"); });
}

TEST(Restore, is_said_only_of_a_copy_that_is_there_and_that_nobody_uses) {
  Platform platform;
  std::vector<std::string> command = platform.keeld_command();
  command.emplace_back("--restored");
  const Ran nothing = run(command, platform.path("said"));
  EXPECT_EQ(nothing.code, 1);
  EXPECT_NE(nothing.output.find("put the copy there first"), std::string::npos) << nothing.output;
  platform.start_keeld();
  const Ran used = run(command, platform.path("said-too"));
  EXPECT_EQ(used.code, 1);
  EXPECT_NE(used.output.find("is in use by another keeld"), std::string::npos) << used.output;
}

}  // namespace
}  // namespace keel::e2e
