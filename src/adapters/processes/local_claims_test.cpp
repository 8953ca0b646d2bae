// Promises survive, and a damaged one costs only itself.
#include "adapters/processes/local_claims.h"

#include <gmock/gmock.h>

#include "adapters/processes/test_host.h"
#include "wire/spec.h"

namespace keel {
namespace {

using testing::HasSubstr;

Claim claim_of(std::uint32_t task) {
  JobSpec spec{.name = "train",
               .labels = {{"team", "fjord"}},
               .program = "./train",
               .args = {"--epochs", "3"},
               .env = {{"A", "1"}},
               .files = {{"train", sha256("x"), true}},
               .gang = {.tasks = 2, .gpus_per_task = 1},
               .cpu_per_task = Millicores{500},
               .memory_per_task = gibibytes(1),
               .time_limit = hours(1),
               .grace = seconds(30),
               .stop_signal = SIGTERM,
               .retries = 1,
               .start_deadline = std::nullopt};
  Claim claim{.key = {JobId{77}, AttemptNo{3}, task}, .token = FencingToken{41}};
  claim.order = {.devices = {DeviceId{"GPU-" + std::to_string(task)}},
                 .owner = {.user = "ana", .uid = 1000, .gid = 1000},
                 .spec = spec_digest(spec),
                 .claim_for = seconds(60),
                 .tasks = 2,
                 .master_address = "127.0.0.1",
                 .master_port = 29400};
  claim.spec = spec;
  claim.phase = TaskPhase::prepared;
  claim.claim_until = Instant{123'456'789};
  return claim;
}

struct Directory {
  std::string path = new_directory();
  ~Directory() { (void)remove_tree(AT_FDCWD, path); }
  LocalClaims open() const {
    auto claims = LocalClaims::open(path, NodeId{"n1"});
    EXPECT_TRUE(claims);
    return *std::move(claims);
  }
  std::string file(std::uint32_t task) const {
    return path + "/tasks/" + print(claim_of(task).key) + "/claim";
  }
};

TEST(LocalClaims, what_was_written_is_loaded_by_the_next_agent) {
  const Directory state;
  Claim running = claim_of(1);
  running.phase = TaskPhase::ended;
  running.started = true;
  running.stop = StopCause::preempted;
  running.exit = {.kind = ExitKind::signaled,
                  .code = 9,
                  .cause = StopCause::preempted,
                  .out_of_memory = true,
                  .clean = false,
                  .text = "words"};
  Claim refused = claim_of(10);
  refused.phase = TaskPhase::refused;
  refused.refusal = Reason::prepare_failed;
  refused.text = "no disk";
  {
    LocalClaims claims = state.open();
    ASSERT_TRUE(claims.write(refused));
    ASSERT_TRUE(claims.write(claim_of(1)));
    ASSERT_TRUE(claims.write(running));
    ASSERT_TRUE(claims.write(claim_of(0)));
  }
  LocalClaims claims = state.open();
  const auto kept = claims.load();
  ASSERT_TRUE(kept) << kept.error();
  EXPECT_EQ(kept->claims, (std::vector<Claim>{claim_of(0), running, refused}));
  claims.erase(running.key);
  claims.erase(running.key);
  EXPECT_EQ(claims.load()->claims, (std::vector<Claim>{claim_of(0), refused}));
  EXPECT_FALSE(exists(AT_FDCWD, state.path + "/tasks/" + print(running.key)));
}

TEST(LocalClaims, a_write_that_a_crash_cut_short_is_no_hindrance_and_leaves_nothing) {
  const Directory state;
  LocalClaims claims = state.open();
  ASSERT_TRUE(claims.write(claim_of(0)));
  const std::string beside = state.path + "/tasks/" + print(claim_of(0).key) + "/.claim.new";
  std::ofstream(beside) << std::string(10'000, 'x');  // longer than what is written next
  Claim later = claim_of(0);
  later.started = true;
  ASSERT_TRUE(claims.write(later));
  EXPECT_EQ(claims.load()->claims, std::vector<Claim>{later});
  std::ofstream(beside) << "x";
  claims.erase(later.key);
  EXPECT_FALSE(exists(AT_FDCWD, state.path + "/tasks/" + print(later.key)));
}

TEST(LocalClaims, floors_are_kept_and_a_claim_proves_its_own) {
  const Directory state;
  LocalClaims claims = state.open();
  const std::map<DeviceId, FencingToken> floors{{{"GPU-0"}, {7}}, {{"GPU-9"}, {1'000'000'007}}};
  ASSERT_TRUE(claims.write_floors(floors));
  EXPECT_EQ(claims.load()->floors, floors);
  ASSERT_TRUE(claims.write(claim_of(0)));
  EXPECT_EQ(claims.load()->floors.at({"GPU-0"}), FencingToken{41});
  std::ofstream(state.path + "/floors", std::ios::trunc) << "\xff";
  const auto kept = claims.load();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->floors, (std::map<DeviceId, FencingToken>{{{"GPU-0"}, {41}}}));
  EXPECT_THAT(claims.damaged().at(0), HasSubstr("floors is damaged"));
}

TEST(LocalClaims, a_damaged_claim_is_moved_aside_and_reported) {
  const Directory state;
  LocalClaims claims = state.open();
  for (const std::uint32_t task : {0U, 1U, 2U, 3U}) ASSERT_TRUE(claims.write(claim_of(task)));
  std::ofstream(state.file(0), std::ios::trunc) << "\xff\xff";
  std::ofstream(state.file(1), std::ios::trunc) << contents(state.file(2));  // another task's
  std::ofstream(state.file(3), std::ios::trunc) << contents(state.file(3)).substr(0, 40);
  std::ofstream(state.path + "/tasks/rubbish") << "x";
  const auto kept = claims.load();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->claims, std::vector<Claim>{claim_of(2)});
  EXPECT_EQ(claims.damaged().size(), 3U);
  EXPECT_TRUE(exists(AT_FDCWD, state.file(0) + ".damaged"));
  EXPECT_TRUE(claims.load());
  EXPECT_TRUE(claims.damaged().empty()) << "said once";
}

TEST(LocalClaims, a_claim_of_a_newer_version_is_refused_and_left_alone) {
  const Directory state;
  LocalClaims claims = state.open();
  ASSERT_TRUE(claims.write(claim_of(0)));
  v1::LocalClaim newer;
  ASSERT_TRUE(newer.ParseFromString(contents(state.file(0))));
  newer.set_format(2);
  const std::string bytes = newer.SerializeAsString();
  std::ofstream(state.file(0), std::ios::trunc) << bytes;
  const auto kept = claims.load();
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error(), HasSubstr("was written by a newer version"));
  EXPECT_EQ(contents(state.file(0)), bytes);
}

TEST(LocalClaims, the_deadline_of_a_claim_of_an_earlier_boot_has_passed) {
  const Directory state;
  LocalClaims claims = state.open();
  ASSERT_TRUE(claims.write(claim_of(0)));
  v1::LocalClaim old;
  ASSERT_TRUE(old.ParseFromString(contents(state.file(0))));
  old.set_boot_id("of yesterday");
  std::ofstream(state.file(0), std::ios::trunc) << old.SerializeAsString();
  EXPECT_EQ(claims.load()->claims.at(0).claim_until, Instant{});
}

TEST(LocalClaims, a_disk_that_refuses_is_an_error) {
  const Directory state;
  LocalClaims claims = state.open();
  std::ofstream(state.path + "/tasks/" + print(claim_of(0).key)) << "in the way";
  EXPECT_FALSE(claims.write(claim_of(0)));
}

}  // namespace
}  // namespace keel
