// A fleet of one model on which tenants' jobs start as selection says and end when they are done,
// for tests. Who is next waits for room, and nobody passes it.
#pragma once

#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "share/select.h"

namespace keel::share {

struct WorldJob {
  std::int64_t gpus = 1;
  std::int64_t length_us{};
};

struct Player {
  std::int64_t weight = 1;
  std::function<WorldJob(Random&)> next{};  // its endless jobs
  std::int64_t jobs = INT64_MAX;            // that it has in all
  std::int64_t from_us = 0;                 // when they are submitted
  std::int64_t held{};                      // now
  std::int64_t gpu_us{};                    // held x time, since the last reset
  std::vector<std::int64_t> starts_us{};    // of its jobs, where there are few
  std::optional<WorldJob> head{};           // the world's
};

class SelectWorld {
 public:
  SelectWorld(std::int64_t gpus, std::vector<Player> players, Terms terms, std::uint64_t seed)
      : gpus_(gpus), free_(gpus), players_(std::move(players)), random_(seed), selector_(terms) {
    Cluster cluster{.resources = {{.capacity = gpus, .gpu = true}}, .nodes = {}};
    for (std::size_t i = 0; i < players_.size(); ++i) {
      cluster.nodes.push_back({.id = id_of(i), .weight = players_[i].weight});
    }
    check(selector_.arrange(cluster, terms, 0).has_value(), "the world's tree is right");
  }

  void run_until(std::int64_t end_us) {
    while (true) {
      take_turn();
      const std::int64_t next_us = std::min(next_event(), end_us);
      for (Player& player : players_) player.gpu_us += player.held * (next_us - now_us_);
      now_us_ = next_us;
      if (now_us_ == end_us) return;
    }
  }

  void forget_gpu_time() {
    for (Player& player : players_) player.gpu_us = 0;
  }

  const Player& player(std::size_t i) const { return players_[i]; }
  const std::vector<std::int64_t>& ends_us() const { return ends_us_; }
  Fraction used(std::size_t i) { return selector_.standing(id_of(i)).counted[0].usage; }

 private:
  static NodeId id_of(std::size_t i) { return {i + 1}; }

  std::int64_t next_event() const {
    std::int64_t next = running_.empty() ? INT64_MAX : std::get<0>(*running_.begin());
    for (const Player& player : players_) {
      if (player.from_us > now_us_) next = std::min(next, player.from_us);
    }
    return next;
  }

  void take_turn() {
    while (!running_.empty() && std::get<0>(*running_.begin()) == now_us_) {
      const auto [at, seq, i, gpus] = *running_.begin();
      running_.erase(running_.begin());
      selector_.release(id_of(i), {{gpus}}, now_us_);
      players_[i].held -= gpus;
      free_ += gpus;
      ends_us_.push_back(now_us_);
    }
    for (std::size_t i = 0; i < players_.size(); ++i) submit(i);
    share_out();
    selector_.freeze(now_us_);
    while (const auto next = selector_.pick()) {
      if (!start(next->value - 1)) break;
    }
  }

  void submit(std::size_t i) {
    Player& player = players_[i];
    if (player.head || player.jobs == 0 || player.from_us > now_us_) return;
    --player.jobs;
    player.head = player.next(random_);
    selector_.set_head(id_of(i), Head{{player.head->gpus}, player.from_us});
  }

  bool start(std::size_t i) {
    Player& player = players_[i];
    const WorldJob job = *player.head;
    if (job.gpus > free_) return false;
    free_ -= job.gpus;
    player.held += job.gpus;
    player.head.reset();
    if (player.starts_us.size() < 1000) player.starts_us.push_back(now_us_);
    running_.emplace(now_us_ + job.length_us, ++seq_, i, job.gpus);
    selector_.hold(id_of(i), {{job.gpus}}, now_us_);
    selector_.set_head(id_of(i), std::nullopt);
    submit(i);
    return true;
  }

  // Everybody there wants everything: the whole, by weight.
  void share_out() {
    std::int64_t sum = 0;
    for (const Player& player : players_) sum += player.head ? player.weight : 0;
    if (sum == shared_by_) return;
    shared_by_ = sum;
    for (std::size_t i = 0; i < players_.size(); ++i) {
      if (sum == 0 || !players_[i].head) continue;
      selector_.set_fair(id_of(i), {Fraction(gpus_) * Fraction(players_[i].weight, sum)});
    }
  }

  std::int64_t gpus_;
  std::int64_t free_;
  std::int64_t now_us_ = 0;
  std::int64_t shared_by_ = 0;
  std::uint64_t seq_ = 0;
  std::vector<Player> players_;
  Random random_;
  Selector selector_;
  std::set<std::tuple<std::int64_t, std::uint64_t, std::size_t, std::int64_t>> running_{};
  std::vector<std::int64_t> ends_us_{};
};

}  // namespace keel::share
