// Wall clocks jump; nothing that is counted does.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

constexpr long ten_years = 10L * 365 * 24 * 3600;  // seconds

double seconds_since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

int year_of(const Json& line) {
  return 1970 + static_cast<int>(line["at_us"].get<std::int64_t>() / 1'000'000 / 31'556'952);
}

TEST(Clock, of_the_wall_may_jump_by_ten_years_and_no_limit_lease_or_log_suffers) {
  for (const long jump : {ten_years, -ten_years}) {
    SCOPED_TRACE(jump);
    Platform platform({.keeld = {"--disconnect-stop", "20s"}, .preload = WALL_CLOCK});
    platform.start_keeld();
    platform.start_agent();
    const std::string lasting = platform.submit(platform.gang(
        "echo before\n" + until_told("jumped") + "echo after\n" + until_told(), 1, 1));
    platform.await_state(lasting, "running");
    Json spec = platform.gang("trap '' TERM; while :; do sleep 0.1; done", 1, 1);
    spec["time_limit"] = "4s";
    const auto begun = SteadyClock::now();
    const std::string limited = platform.submit(spec);
    platform.await_state(limited, "running");
    std::ofstream(platform.preloaded() + "/ahead") << jump << std::endl;
    platform.tell("jumped");
    const Json over = platform.await_end(limited);
    EXPECT_GE(seconds_since(begun), 4.0);
    EXPECT_EQ(over["reason"], "time_limit_reached") << over;
    EXPECT_EQ(platform.state(lasting), "running");
    // What begins after the jump is as good as what began before.
    EXPECT_EQ(platform.await_end(platform.submit(platform.shell("true")))["state"], "succeeded");
    platform.tell("go");
    const Json ended = platform.await_end(lasting);
    EXPECT_EQ(ended["state"], "succeeded") << ended;
    EXPECT_EQ(ended["attempt"], 1);
    EXPECT_EQ(platform.log(lasting), (std::vector<std::string>{"before", "after"}));
    const Json lines = platform.get("/v1/jobs/" + lasting + "/logs?offset=0").json()["lines"];
    EXPECT_NEAR(year_of(lines[1]) - year_of(lines[0]), jump > 0 ? 10 : -10, 1)
        << "else the clock did not jump";
  }
}

}  // namespace
}  // namespace keel::e2e
