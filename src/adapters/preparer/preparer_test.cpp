#include "adapters/preparer/preparer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>

namespace keel {
namespace {

// Remembers how many orders were laid out, and how many at once.
struct CountingRuntime final : Runtime {
  Result<Done, RuntimeError> prepare(const PrepareOrder&) override {
    const int now = ++at_once;
    int most = most_at_once;
    while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --at_once;
    ++prepared;
    return Done{};
  }
  Result<Done, RuntimeError> start(const TaskKey&, Instant) override { return Done{}; }
  void extend(const TaskKey&, Instant) override {}
  void stop(const TaskKey&, StopCause) override {}
  std::vector<Observed> observe(const std::vector<StartedTask>&) override { return {}; }
  Result<Done, RuntimeError> commit(const TaskKey&) override { return Done{}; }
  void release(const TaskKey&) override {}
  std::optional<LogPart> read_log(const TaskKey&, std::int64_t, std::int64_t) override {
    return std::nullopt;
  }

  std::atomic<int> prepared{}, at_once{}, most_at_once{};
};

PrepareOrder order(std::uint64_t job, const std::string& path = "") {
  PrepareOrder order{.key = {{job}, {1}, 0}};
  if (!path.empty()) order.spec.files = {{.path = path, .digest = {}}};
  return order;
}

// Takes until every one of `count` orders has its outcome.
std::map<TaskKey, Result<Done, RuntimeError>> take_all(Preparer& preparer, std::size_t count) {
  std::map<TaskKey, Result<Done, RuntimeError>> outcomes;
  for (int i = 0; i < 2000 && outcomes.size() < count; ++i) {
    for (auto& [key, outcome] : preparer.take()) {
      EXPECT_TRUE(outcomes.emplace(key, outcome).second) << "told twice";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(outcomes.size(), count);
  return outcomes;
}

TEST(Preparer, every_order_has_one_outcome_and_wakes_the_agent) {
  CountingRuntime runtime;
  std::atomic<int> woken{};
  Preparer preparer({.fetch = [](const Digest&) { return Done{}; },
                     .runtime = runtime,
                     .wake = [&] { ++woken; }});
  for (std::uint64_t job = 1; job <= 20; ++job) preparer.begin(order(job, "a"));
  for (const auto& [key, outcome] : take_all(preparer, 20)) EXPECT_TRUE(outcome) << print(key);
  EXPECT_EQ(woken, 20);
  EXPECT_EQ(runtime.prepared, 20);
  EXPECT_EQ(runtime.most_at_once, 2) << "as many as it has threads";
}

TEST(Preparer, a_file_that_does_not_come_is_named_and_nothing_is_laid_out) {
  CountingRuntime runtime;
  Preparer preparer({.fetch = [](const Digest&) -> Result<Done, std::string> {
                       return std::string("no such file");
                     },
                     .runtime = runtime,
                     .wake = [] {}});
  preparer.begin(order(1, "data/train.bin"));
  preparer.begin(order(2));
  const auto outcomes = take_all(preparer, 2);
  EXPECT_EQ(outcomes.at(order(1).key).error().text, "data/train.bin: no such file");
  EXPECT_TRUE(outcomes.at(order(2).key)) << "the one beside it is not held up";
  EXPECT_EQ(runtime.prepared, 1);
}

TEST(Preparer, its_end_drops_what_waits_and_gives_up_what_is_fetched) {
  CountingRuntime runtime;
  std::promise<void> given_up;
  std::atomic<int> fetching{};
  const auto end = given_up.get_future().share();
  {
    Preparer preparer({.fetch = [&](const Digest&) -> Result<Done, std::string> {
                         ++fetching;
                         end.wait();
                         return std::string("given up");
                       },
                       .give_up = [&] { given_up.set_value(); },
                       .runtime = runtime,
                       .wake = [] {}});
    for (std::uint64_t job = 1; job <= 9; ++job) preparer.begin(order(job, "a"));
    while (fetching < 2) std::this_thread::yield();
  }
  EXPECT_EQ(fetching, 2);
  EXPECT_EQ(runtime.prepared, 0);
}

}  // namespace
}  // namespace keel
