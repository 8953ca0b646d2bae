// A second, slow answer to what fair shares are, for tests: every step looks at everything anew.
// It keeps no clocks, blocks or partial sums, and shares no code with the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "share/fair_oracle_promises.h"
#include "share/tree.h"

namespace keel::share {

// Q is a number that does not round. What is raised: units of each leaf's shape groups.
template <class Q>
class FairOracle : public OraclePromises<Q> {
 public:
  explicit FairOracle(const Cluster& cluster) : Base(cluster) {
    for (const Node& leaf : cluster.nodes) taken_.emplace_back(leaf.demand.size());
  }

  // By node, in the order of the cluster, and resource.
  std::vector<std::vector<Q>> run() {
    for (const bool plain : {false, true}) guarantee(deepest_ + 1, plain);
    for (std::size_t depth = deepest_; depth > 0; --depth) guarantee(depth, false);
    guaranteed_ = held();
    Rules rules = fixed();
    for (std::size_t i = 0; i < count_; ++i) set_weight(rules, i);
    rules.base = cluster_.surplus == Surplus::additive ? guaranteed_ : rules.base;
    raise(rules);
    return held();
  }
  const std::vector<std::vector<Q>>& guaranteed() const { return guaranteed_; }

 private:
  using Base = OraclePromises<Q>;
  using Base::all_gpus, Base::capacity, Base::children, Base::gpus, Base::is_gpu, Base::node;
  using Base::cluster_, Base::count_, Base::deepest_, Base::path_, Base::plain_, Base::typed_;
  using Base::resources, Base::size, Base::total;

  enum class Kind { every, gpus, rest };
  struct Limit {
    std::optional<std::size_t> node;  // none: the fleet
    std::vector<std::size_t> of;      // the sum of these
    Q amount{};
    Kind stops{};
  };
  struct Rules {
    std::vector<Q> weight;
    std::vector<bool> last, shut;
    std::vector<std::vector<std::size_t>> needs;  // of groups without GPUs; by node
    std::vector<bool> needy;
    std::vector<std::vector<Q>> base;
    std::vector<Limit> limits;
  };
  // Nodes in the order in which siblings rise.
  using Key = std::tuple<bool, Q, bool, Q>;
  struct Mover {
    bool moves = false;
    Key key{};
    std::vector<Q> raw;  // what is used per unit of its own pace
    std::vector<bool> asked, judged;
    Q pace{};                   // how much its share per weight grows with it
    Q speed{};                  // of its share per weight, in the fleet's time
    std::optional<Q> clock_to;  // of a group: where its next child joins
  };

  // ---- Limits that always hold. Of lend limits only leaves' are known here.
  Rules fixed() const {
    Rules rules{std::vector<Q>(count_, Q(1)),
                std::vector<bool>(count_),
                std::vector<bool>(count_),
                std::vector<std::vector<std::size_t>>(count_),
                std::vector<bool>(count_),
                std::vector<std::vector<Q>>(count_, std::vector<Q>(resources())),
                {}};
    for (std::size_t r = 0; r < resources(); ++r) {
      rules.limits.push_back({std::nullopt, {r}, capacity(r) - kept(r), Kind::every});
    }
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t r = 0; r < resources(); ++r) {
        if (const auto most = ceiling(i, r)) rules.limits.push_back({i, {r}, *most, Kind::every});
      }
      const auto cap = node(i).cap.any_gpu;
      const auto loan = node(i).borrow_limit.any_gpu;
      if (cap) rules.limits.push_back({i, gpus(), Q(*cap), Kind::every});
      if (loan) rules.limits.push_back({i, gpus(), all_gpus(i) + Q(*loan), Kind::every});
    }
    return rules;
  }

  std::optional<Q> ceiling(std::size_t i, std::size_t r) const {
    std::optional<Q> most;
    const Bounds& cap = node(i).cap;
    const Bounds& loan = node(i).borrow_limit;
    if (!cap.of.empty() && cap.of[r]) most = Q(*cap.of[r]);
    if (!loan.of.empty() && loan.of[r]) {
      const Q sum = typed_[i][r] + Q(*loan.of[r]);
      most = most ? std::min(*most, sum) : sum;
    }
    return most;
  }

  Q kept(std::size_t r) const {
    Q sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Bounds& lent = node(i).lend_limit;
      if (lent.of.empty() || !lent.of[r]) continue;
      Q used = 0;
      for (const ShapeGroup& group : node(i).demand) used += Q(group.each[r]) * Q(group.units);
      if (const auto most = ceiling(i, r)) used = std::min(used, *most);
      const Q back = typed_[i][r] - Q(*lent.of[r]);
      if (back > used) sum += back - used;
    }
    return std::min(sum, capacity(r));
  }

  void set_weight(Rules& rules, std::size_t i) const {
    rules.last[i] = node(i).weight == 0;
    rules.weight[i] = rules.last[i] ? Q(1) : Q(node(i).weight);
  }

  // ---- Guarantees. Beyond the deepest: of leaves, by model or plain; else of groups at `depth`.
  void guarantee(std::size_t depth, bool plain) {
    Rules rules = fixed();
    bool any = false;
    std::vector<bool> chosen(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const bool leaf = children(i).empty();
      if (depth > deepest_) {
        chosen[i] = leaf && (plain_[i] > Q(0)) == plain && size(i) > Q(0);
      } else {
        chosen[i] = !leaf && path_[i].size() == depth && node(i).guarantee.has_value();
      }
      any = any || chosen[i];
    }
    if (!any) return;
    for (std::size_t i = 0; i < count_; ++i) {
      if (path_[i].size() > depth) set_weight(rules, i);
      if (path_[i].size() <= depth && size(i) > Q(0)) rules.weight[i] = size(i);
      rules.shut[i] = std::ranges::none_of(path_[i], [&](std::size_t n) { return chosen[n]; });
      if (chosen[i]) allow(rules, i);
    }
    raise(rules);
  }

  void allow(Rules& rules, std::size_t i) const {
    rules.needy[i] = true;
    if (plain_[i] > Q(0)) rules.limits.push_back({i, gpus(), all_gpus(i), Kind::gpus});
    for (std::size_t r = 0; r < resources(); ++r) {
      if (is_gpu(r)) {
        if (plain_[i] == Q(0)) rules.limits.push_back({i, {r}, typed_[i][r], Kind::gpus});
      } else if (typed_[i][r] > Q(0)) {
        rules.limits.push_back({i, {r}, typed_[i][r], Kind::rest});
        rules.needs[i].push_back(r);
      }
    }
  }

  // ---- Rising.
  std::vector<std::vector<Q>> held() const {
    std::vector<std::vector<Q>> sums(count_, std::vector<Q>(resources()));
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t s = 0; s < taken_[i].size(); ++s) {
        for (const std::size_t n : path_[i]) {
          for (std::size_t r = 0; r < resources(); ++r) {
            sums[n][r] += taken_[i][s] * Q(node(i).demand[s].each[r]);
          }
        }
      }
    }
    return sums;
  }

  Q used(const Limit& limit, const std::vector<std::vector<Q>>& sums) const {
    if (limit.node) return total(sums[*limit.node], limit.of);
    Q sum = 0;
    for (const std::size_t top : children(std::nullopt)) sum += total(sums[top], limit.of);
    return sum;
  }

  std::optional<std::size_t> current(const Rules& rules, const std::vector<bool>& reached,
                                     std::size_t i) const {
    for (std::size_t s = 0; s < taken_[i].size(); ++s) {
      const ShapeGroup& group = node(i).demand[s];
      if (taken_[i][s] == Q(group.units) || rules.shut[i]) continue;
      const auto asks = [&](std::size_t r) { return group.each[r] > 0; };
      const bool with_gpus = std::ranges::any_of(gpus(), asks);
      bool stopped = false;
      for (std::size_t k = 0; k < rules.limits.size(); ++k) {
        const Limit& limit = rules.limits[k];
        const bool meant = limit.stops == Kind::every || (limit.stops == Kind::gpus) == with_gpus;
        const bool above = !limit.node || std::ranges::count(path_[i], *limit.node) > 0;
        stopped = stopped || (reached[k] && meant && above && std::ranges::any_of(limit.of, asks));
      }
      for (const std::size_t n : path_[i]) {
        if (!rules.needy[n] || with_gpus) continue;
        stopped = stopped || std::ranges::none_of(rules.needs[n], asks);
      }
      if (!stopped) return s;
    }
    return std::nullopt;
  }

  Q share(const Rules& rules, const std::vector<std::vector<Q>>& sums, std::size_t i,
          std::size_t r) const {
    if (capacity(r) == Q(0)) return Q(0);
    return (sums[i][r] - rules.base[i][r]) / (capacity(r) * rules.weight[i]);
  }

  // How `i` would rise; those below are known.
  void judge(const Rules& rules, const std::vector<std::vector<Q>>& sums, std::size_t i,
             std::vector<Mover>& movers) const {
    Mover& mover = movers[i];
    bool paid = false;
    for (std::size_t r = 0; r < resources(); ++r) {
      paid = paid || (mover.asked[r] && cluster_.resources[r].dominant);
    }
    Q sub = 0;
    Q level = 0;
    mover.judged.assign(resources(), false);
    for (std::size_t r = 0; r < resources(); ++r) {
      const bool dominant = cluster_.resources[r].dominant;
      mover.judged[r] = mover.asked[r] && (dominant || !paid);
      const Q now = share(rules, sums, i, r);
      if (mover.judged[r]) sub = std::max(sub, now);
      if (dominant && (children(i).empty() || mover.judged[r])) level = std::max(level, now);
    }
    mover.key = {rules.last[i], level, paid, sub};
    mover.pace = 0;
    for (std::size_t r = 0; r < resources(); ++r) {
      if (!mover.judged[r] || share(rules, sums, i, r) != sub) continue;
      mover.pace = std::max(mover.pace, Q(mover.raw[r] / (capacity(r) * rules.weight[i])));
    }
  }

  // Of the nodes given, those that rise now; and where on their common clock the next joins.
  std::vector<std::size_t> lowest(const std::vector<std::size_t>& of,
                                  const std::vector<Mover>& movers,
                                  std::optional<Q>& clock_to) const {
    std::vector<std::size_t> first;
    for (const std::size_t i : of) {
      if (!movers[i].moves) continue;
      if (!first.empty() && movers[i].key < movers[first[0]].key) first.clear();
      if (first.empty() || movers[i].key == movers[first[0]].key) first.push_back(i);
    }
    if (first.empty()) return first;
    const auto [last, level, paid, sub] = movers[first[0]].key;
    std::optional<Key> next;
    for (const std::size_t i : of) {
      if (!movers[i].moves || movers[i].key == movers[first[0]].key) continue;
      if (!next || movers[i].key < *next) next = movers[i].key;
    }
    if (!next || std::get<0>(*next) != last) return first;
    if (std::get<1>(*next) == level && std::get<2>(*next) == paid) {
      clock_to = std::get<3>(*next);
    } else if (paid) {
      clock_to = std::get<1>(*next);
    }
    return first;
  }

  void raise(const Rules& rules) {
    while (step(rules)) {
    }
  }

  bool step(const Rules& rules) {
    const auto sums = held();
    std::vector<bool> reached;
    for (const Limit& limit : rules.limits) reached.push_back(used(limit, sums) >= limit.amount);
    std::vector<Mover> movers(count_);
    std::vector<std::size_t> order(count_);
    for (std::size_t i = 0; i < count_; ++i) order[i] = i;
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return path_[a].size() > path_[b].size(); });
    std::vector<std::optional<std::size_t>> shape(count_);
    for (const std::size_t i : order) prepare(rules, sums, reached, i, movers, shape[i]);
    std::optional<Q> fleet_to;
    const auto top = lowest(children(std::nullopt), movers, fleet_to);
    if (top.empty()) return false;
    for (const std::size_t i : top) movers[i].speed = 1;
    std::ranges::reverse(order);
    for (const std::size_t i : order) {
      std::optional<Q> ignored;
      for (const std::size_t child : lowest(children(i), movers, ignored)) {
        if (movers[i].speed > Q(0)) movers[child].speed = movers[i].speed / movers[i].pace;
      }
    }
    std::optional<Q> time;
    if (fleet_to) time = *fleet_to - std::get<3>(movers[top[0]].key);
    go(rules, sums, reached, movers, shape, time);
    return true;
  }

  void prepare(const Rules& rules, const std::vector<std::vector<Q>>& sums,
               const std::vector<bool>& reached, std::size_t i, std::vector<Mover>& movers,
               std::optional<std::size_t>& shape) const {
    Mover& mover = movers[i];
    mover.raw.assign(resources(), Q(0));
    mover.asked.assign(resources(), false);
    if (children(i).empty()) {
      shape = current(rules, reached, i);
      mover.moves = shape.has_value();
      for (std::size_t r = 0; mover.moves && r < resources(); ++r) {
        mover.raw[r] = Q(node(i).demand[*shape].each[r]);
        mover.asked[r] = node(i).demand[*shape].each[r] > 0;
      }
    } else {
      for (const std::size_t child : lowest(children(i), movers, mover.clock_to)) {
        mover.moves = true;
        for (std::size_t r = 0; r < resources(); ++r) {
          mover.raw[r] += movers[child].raw[r] / movers[child].pace;
          if (movers[child].asked[r]) mover.asked[r] = true;
        }
      }
    }
    if (mover.moves) judge(rules, sums, i, movers);
  }

  void go(const Rules& rules, const std::vector<std::vector<Q>>& sums,
          const std::vector<bool>& reached, const std::vector<Mover>& movers,
          const std::vector<std::optional<std::size_t>>& shape, std::optional<Q> time) {
    const auto before = [&](const Q& other) {
      if (!time || other < *time) time = other;
    };
    std::vector<std::vector<Q>> rates(count_, std::vector<Q>(resources()));
    for (std::size_t i = 0; i < count_; ++i) {
      if (!shape[i] || movers[i].speed == Q(0)) continue;
      const Q units = movers[i].speed / movers[i].pace;
      before((Q(node(i).demand[*shape[i]].units) - taken_[i][*shape[i]]) / units);
      for (const std::size_t n : path_[i]) {
        for (std::size_t r = 0; r < resources(); ++r) rates[n][r] += movers[i].raw[r] * units;
      }
    }
    for (std::size_t k = 0; k < rules.limits.size(); ++k) {
      const Q rate = used(rules.limits[k], rates);
      if (reached[k] || rate == Q(0)) continue;
      before((rules.limits[k].amount - used(rules.limits[k], sums)) / rate);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const Mover& mover = movers[i];
      if (mover.speed == Q(0)) continue;
      const Q sub = std::get<3>(mover.key);
      for (std::size_t r = 0; r < resources(); ++r) {
        if (!mover.judged[r] || share(rules, sums, i, r) == sub) continue;
        const Q rise = rates[i][r] / (capacity(r) * rules.weight[i]);
        if (rise > mover.speed) before((sub - share(rules, sums, i, r)) / (rise - mover.speed));
      }
      if (!mover.clock_to) continue;
      std::optional<Q> ignored;
      const std::size_t child = lowest(children(i), movers, ignored)[0];
      before((*mover.clock_to - std::get<3>(movers[child].key)) / movers[child].speed);
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (!shape[i] || movers[i].speed == Q(0)) continue;
      taken_[i][*shape[i]] += movers[i].speed / movers[i].pace * *time;
    }
  }

  std::vector<std::vector<Q>> taken_;
  std::vector<std::vector<Q>> guaranteed_;
};

}  // namespace keel::share
