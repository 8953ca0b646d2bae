// What keeld makes of a disk that is full, or that it may only read. The disks are real: small file
// systems in memory, in a mount namespace of the test's own, which takes root.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

constexpr const char* small_disk = "size=6m,mode=700";
constexpr const char* large_disk = "size=256m,mode=700";

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << "this test mounts, which takes CAP_SYS_ADMIN";
    // In a chroot "/" need be no mount: then ours are seen outside, too, until TearDown().
    const int made_private = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    ASSERT_TRUE(made_private == 0 || errno == EINVAL) << std::strerror(errno);
    std::filesystem::create_directory(data_);
    ASSERT_EQ(::mount("keel-disk", data_.c_str(), "tmpfs", 0, small_disk), 0);
  }
  void TearDown() override { (void)::umount2(data_.c_str(), MNT_DETACH); }

  // Submits a job with a large argument, so that a few of them fill the disk.
  Answer submit_large(const std::string& key) const {
    Json spec = platform_.shell("true");
    spec["env"]["BALLAST"] = std::string(60'000, 'x') + key;
    return platform_.post("/v1/jobs", {{"spec", spec}, {"key", key}});
  }

  Platform platform_;
  const std::string data_ = platform_.path("data");
};

TEST_F(Disk, that_is_full_costs_no_acknowledged_job_and_keeld_goes_on_once_there_is_room) {
  platform_.start_keeld();
  std::map<std::string, std::string> jobs;  // by key
  std::string refused;
  for (int n = 0; n < 200 && refused.empty(); ++n) {
    const std::string key = "key-" + std::to_string(n);
    const Answer answer = submit_large(key);
    if (answer.status == 200) {
      jobs[key] = answer.json()["job"];
    } else {
      EXPECT_EQ(answer.status, 503) << answer.body;
      refused = key;
    }
  }
  ASSERT_FALSE(refused.empty()) << "the disk was never full";
  EXPECT_GE(jobs.size(), 5u);
  EXPECT_NE(contents(platform_.path("keeld.log")).find("full"), std::string::npos);
  EXPECT_EQ(platform_.state(jobs.begin()->second), "queued") << "what is stored can be read";

  ASSERT_EQ(::mount("keel-disk", data_.c_str(), "tmpfs", MS_REMOUNT, large_disk), 0);
  await("an answer with room on the disk", [&] { return submit_large(refused).status == 200; });
  jobs[refused] = submit_large(refused).json()["job"];
  platform_.keeld().kill9();
  platform_.start_keeld();
  for (const auto& [key, job] : jobs) {
    const Answer again = submit_large(key);
    EXPECT_EQ(again.json()["job"], job) << again.body;
    EXPECT_EQ(again.json()["existing"], true);
  }
}

TEST_F(Disk, that_may_only_be_read_is_named_at_the_start) {
  platform_.start_keeld();
  platform_.submit(platform_.shell("true"));
  EXPECT_EQ(platform_.keeld().terminate(), 0);
  ASSERT_EQ(::mount("keel-disk", data_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, small_disk), 0);
  const Ran ran = run(platform_.keeld_command(), platform_.path("refused.log"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find(data_), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("Read-only file system"), std::string::npos) << ran.output;
}

}  // namespace
}  // namespace keel::e2e
