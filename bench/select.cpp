// keel-bench select: who is next, over a tree of many tenants whose fleet is full. Whenever a job
// ends, the next is picked and starts; queues behind the heads are plain and always as long.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "base/random.h"
#include "bench/bench.h"
#include "share/select.h"

namespace keel::bench {
namespace {

using SelectJson = nlohmann::ordered_json;
using SelectClock = std::chrono::steady_clock;

constexpr std::uint64_t picks_a_cycle = 1000;
constexpr std::int64_t cycle_us = 1'000'000;
constexpr std::int64_t gibibyte = std::int64_t{1} << 30U;
constexpr std::uint64_t users_a_team = 20;
constexpr std::uint64_t teams_an_organisation = 25;

struct SelectOptions {
  std::uint64_t tenants = 10'000;
  std::uint64_t pending = 1'000'000;
  std::uint64_t picks = 300'000;
  std::uint64_t lambda = 500;
  bool json{};
};

double seconds_since(SelectClock::time_point begun) {
  return std::chrono::duration<double>(SelectClock::now() - begun).count();
}

struct WaitingJob {
  std::uint8_t shape{};
  std::int64_t since{};
};

// 12,500 nodes of 8 GPUs of two models, users in teams in organisations.
share::Cluster cluster_of(std::uint64_t tenants) {
  Random random(1);
  share::Cluster cluster{.resources = {{.capacity = 50'000, .gpu = true},
                                       {.capacity = 50'000, .gpu = true},
                                       {.capacity = 1'200'000'000},
                                       {.capacity = 12'500 * 2048 * gibibyte}}};
  const std::uint64_t teams = (tenants + users_a_team - 1) / users_a_team;
  const std::uint64_t organisations = (teams + teams_an_organisation - 1) / teams_an_organisation;
  const auto add = [&](std::uint64_t id, std::uint64_t parent) {
    share::Node node{.id = {id}, .weight = random.between(1, 4)};
    if (parent != 0) node.parent = share::NodeId{parent};
    cluster.nodes.push_back(std::move(node));
  };
  for (std::uint64_t i = 0; i < organisations; ++i) add(tenants + teams + 1 + i, 0);
  for (std::uint64_t i = 0; i < teams; ++i) {
    add(tenants + 1 + i, tenants + teams + 1 + i / teams_an_organisation);
  }
  for (std::uint64_t i = 0; i < tenants; ++i) add(1 + i, tenants + 1 + i / users_a_team);
  return cluster;
}

// One of 16 shapes: 1, 2, 4 or 8 GPUs of one of two models, with little or much CPU and memory.
share::Amounts shape_of(std::uint8_t number) {
  share::Amounts shape(4);
  const std::int64_t gpus = std::int64_t{1} << (number & 3U);
  shape[(number >> 2U) & 1U] = gpus;
  const std::int64_t much = (number >> 3U) & 1U;
  shape[2] = gpus * (4000 + much * 4000);
  shape[3] = gpus * (64 + much * 64) * gibibyte;
  return shape;
}

class SelectFloor {
 public:
  explicit SelectFloor(const SelectOptions& options)
      : selector_(terms(options)), queues_(options.tenants + 1) {
    const share::Cluster cluster = cluster_of(options.tenants);
    if (!selector_.arrange(cluster, terms(options), now_us_)) std::abort();
    for (const share::Node& node : cluster.nodes) {
      std::vector<share::Fraction> fair;
      for (const share::Resource& resource : cluster.resources) {
        fair.emplace_back(resource.capacity, static_cast<std::int64_t>(options.tenants));
      }
      if (node.id.value <= options.tenants) selector_.set_fair(node.id, std::move(fair));
    }
    for (std::uint64_t i = 0; i < options.pending; ++i) add_job(1 + i % options.tenants);
    for (std::uint64_t leaf = 1; leaf <= options.tenants; ++leaf) offer(leaf);
    while (gpus_held_ < gpus_kept) start_next();
  }

  // A job ends and the next starts.
  void turn_over() {
    const auto [leaf, shape] = running_.front();
    running_.pop_front();
    selector_.release({leaf}, {shape_of(shape)}, now_us_);
    gpus_held_ -= std::int64_t{1} << (shape & 3U);
    start_next();
  }

  void begin_cycle() {
    now_us_ += cycle_us;
    selector_.freeze(now_us_);
    (void)selector_.pick();  // what freeze() has left to do is part of its cost
  }

  const share::Effort& effort() const { return selector_.effort(); }

 private:
  static constexpr std::int64_t gpus_kept = 80'000;

  static share::Terms terms(const SelectOptions& options) {
    return {*share::HalfLife::of_us(24 * 3600 * cycle_us),
            static_cast<std::int64_t>(options.lambda)};
  }

  void add_job(std::uint64_t leaf) {
    queues_[leaf].push_back({static_cast<std::uint8_t>(random_.between(0, 15)), ++submitted_});
  }

  void offer(std::uint64_t leaf) {
    if (queues_[leaf].empty()) return selector_.set_head({leaf}, std::nullopt);
    const WaitingJob& job = queues_[leaf].front();
    selector_.set_head({leaf}, share::Head{shape_of(job.shape), job.since});
  }

  void start_next() {
    const auto picked = selector_.pick();
    if (!picked) return;
    const std::uint64_t leaf = picked->value;
    const WaitingJob job = queues_[leaf].front();
    queues_[leaf].pop_front();
    add_job(leaf);
    selector_.hold(*picked, {shape_of(job.shape)}, now_us_);
    running_.emplace_back(leaf, job.shape);
    gpus_held_ += std::int64_t{1} << (job.shape & 3U);
    offer(leaf);
  }

  Random random_{2};
  std::int64_t now_us_ = cycle_us;
  std::int64_t submitted_ = 0;
  std::int64_t gpus_held_ = 0;
  share::Selector selector_;
  std::vector<std::deque<WaitingJob>> queues_;
  std::deque<std::pair<std::uint64_t, std::uint8_t>> running_{};
};

int run_select(const SelectOptions& options) {
  SelectFloor floor(options);
  const share::Effort before = floor.effort();
  double pick_s = 0;
  double freeze_s = 0;
  std::uint64_t cycles = 0;
  std::uint64_t frozen_keys = 0;
  for (std::uint64_t picks = 0; picks < options.picks; ++cycles) {
    auto begun = SelectClock::now();
    const std::uint64_t keys = floor.effort().keys;
    floor.begin_cycle();
    frozen_keys += floor.effort().keys - keys;
    freeze_s += seconds_since(begun);
    begun = SelectClock::now();
    for (std::uint64_t i = 0; i < picks_a_cycle && picks < options.picks; ++i, ++picks) {
      floor.turn_over();
    }
    pick_s += seconds_since(begun);
  }
  const share::Effort& effort = floor.effort();
  const auto whole = [](double figure) { return static_cast<std::uint64_t>(figure + 0.5); };
  const auto each = [&](std::uint64_t count) {
    return static_cast<double>(count * 10 / options.picks) / 10;
  };
  const SelectJson figures{{"bench", "select"},
                           {"tenants", options.tenants},
                           {"pending", options.pending},
                           {"picks_per_s", whole(static_cast<double>(options.picks) / pick_s)},
                           {"freeze_us", whole(freeze_s * 1e6 / static_cast<double>(cycles))},
                           {"keys_per_pick", each(effort.keys - before.keys - frozen_keys)},
                           {"exact_comparisons_per_pick", each(effort.exact - before.exact)}};
  std::printf("%s\n", figures.dump(options.json ? -1 : 2).c_str());
  return 0;
}

}  // namespace

void add_select(CLI::App& app, Run& chosen) {
  CLI::App* command = app.add_subcommand("select", "picks a second, each with an end and a start");
  const auto options = std::make_shared<SelectOptions>();
  add_whole(*command, "--tenants", options->tenants, 1, 1'000'000, "users, 20 to a team");
  add_whole(*command, "--pending", options->pending, 1, 100'000'000,
            "jobs that wait, all the time");
  add_whole(*command, "--picks", options->picks, 1, 100'000'000, "that are measured");
  add_whole(*command, "--lambda", options->lambda, 0, 1000, "weight of the past, in thousandths");
  command->add_flag("--json", options->json, "the last line of stdout is one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return run_select(*options); }; });
}

}  // namespace keel::bench
