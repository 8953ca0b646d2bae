// A second answer to who is next, for tests: everything is computed from scratch at every pick, as
// the definitions read, without an index, brackets or anything remembered but what happened.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "share/fair_oracle_promises.h"
#include "share/plain_fraction.h"
#include "share/select.h"

namespace keel::share {

// A rational in whatever terms it comes; long ones throw. Never below 0.
class Loose {
 public:
  using Whole = boost::multiprecision::number<
      boost::multiprecision::cpp_int_backend<1536, 1536, boost::multiprecision::unsigned_magnitude,
                                             boost::multiprecision::checked, void>,
      boost::multiprecision::et_off>;

  Loose(std::int64_t n = 0) : n_(n) {}  // NOLINT(google-explicit-constructor)
  Loose(Whole n, Whole d) : n_(std::move(n)), d_(std::move(d)) {}

  friend Loose operator+(const Loose& a, const Loose& b) {
    if (a.n_ == 0) return b;
    if (b.n_ == 0) return a;
    return {a.n_ * b.d_ + b.n_ * a.d_, a.d_ * b.d_};
  }
  friend Loose operator*(const Loose& a, const Loose& b) { return {a.n_ * b.n_, a.d_ * b.d_}; }
  friend Loose operator/(const Loose& a, const Loose& b) { return {a.n_ * b.d_, a.d_ * b.n_}; }
  friend bool operator<(const Loose& a, const Loose& b) { return a.n_ * b.d_ < b.n_ * a.d_; }
  friend bool operator==(const Loose& a, const Loose& b) { return a.n_ * b.d_ == b.n_ * a.d_; }
  // a - b, and nothing where b is larger.
  friend Loose beyond(const Loose& a, const Loose& b) {
    if (a < b || b == a) return {};
    return {a.n_ * b.d_ - b.n_ * a.d_, a.d_ * b.d_};
  }
  // In lowest terms, as Fraction says it.
  std::string text() const {
    const Whole divisor = gcd(n_, d_);
    const std::string whole = Whole(n_ / divisor).str();
    return d_ == divisor ? whole : whole + "/" + Whole(d_ / divisor).str();
  }

 private:
  Whole n_;
  Whole d_ = 1;
};

struct SelectOracleKey {
  bool within{};
  Loose ratio{};
  bool last{};
  Loose after{};
  Loose before{};
  std::int64_t waiting_since{};
  NodeId id;

  friend bool operator<(const SelectOracleKey& a, const SelectOracleKey& b) {
    if (a.within != b.within) return a.within;
    if (a.within && !(a.ratio == b.ratio)) return a.ratio < b.ratio;
    if (a.last != b.last) return b.last;
    if (!(a.after == b.after)) return a.after < b.after;
    if (!(a.before == b.before)) return a.before < b.before;
    if (a.waiting_since != b.waiting_since) return a.waiting_since < b.waiting_since;
    return a.id < b.id;
  }
};

class SelectOracle {
 public:
  SelectOracle(HalfLife half_life, std::int64_t lambda) : half_life_(half_life), lambda_(lambda) {}

  // Whether what is held may stay where it is.
  bool may_arrange(const Cluster& cluster) const {
    for (const auto& [leaf, holdings] : holdings_) {
      if (holdings.empty()) continue;
      bool found = false;
      for (const Node& node : cluster.nodes) {
        if (node.parent == leaf) return false;
        found = found || node.id == leaf;
      }
      if (!found) return false;
    }
    return true;
  }

  void arrange(const Cluster& cluster, std::int64_t at) {
    cluster_ = cluster;
    for (auto& [leaf, holdings] : holdings_) {
      for (Holding& holding : holdings) holding.amounts.resize(resources());
    }
    for (const Node& node : cluster_.nodes) usage_[node.id].resize(resources());
    for (auto& [id, usage] : usage_) {
      for (std::size_t r = 0; r < usage.size(); ++r) settle(usage[r], charge_below(id, r), at);
    }
    std::erase_if(heads_, [&](const auto& head) { return !is_leaf(head.first); });
    for (auto& [leaf, head] : heads_) head.shape.resize(resources());
    std::erase_if(fair_, [&](const auto& fair) {
      return fair.second.size() != resources() || !is_there(fair.first);
    });
    promise();
    freeze(at);
  }

  void hold(NodeId leaf, const Holding& holding, std::int64_t at) {
    holdings_[leaf].push_back(holding);
    charge(leaf, holding, at, true);
  }

  Holding release(NodeId leaf, std::size_t index, std::int64_t at) {
    std::vector<Holding>& held = holdings_[leaf];
    const Holding holding = held[index];
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
    charge(leaf, holding, at, false);
    return holding;
  }

  const std::vector<Holding>& held_by(NodeId leaf) { return holdings_[leaf]; }

  void set_head(NodeId leaf, std::optional<Head> head) {
    heads_.erase(leaf);
    if (head) heads_.emplace(leaf, *std::move(head));
  }

  void set_fair(NodeId node, std::vector<Fraction> fair) { fair_[node] = std::move(fair); }

  void freeze(std::int64_t at) {
    frozen_.clear();
    for (auto& [id, usage] : usage_) {
      usage.resize(resources());
      for (const Usage& one : usage) frozen_[id].push_back(read(one, half_life_, at));
    }
  }

  std::vector<NodeId> leaves() const {
    std::vector<NodeId> found;
    for (const Node& node : cluster_.nodes) {
      if (is_leaf(node.id)) found.push_back(node.id);
    }
    return found;
  }

  // Everything, from scratch: for the root and each group its children that offer something, the
  // best first, with their keys; and for each node the leaf whose head it offers.
  struct Answer {
    std::map<std::optional<NodeId>, std::set<SelectOracleKey>> lines{};
    std::map<std::optional<NodeId>, NodeId> offers{};
  };

  Answer answer() const {
    Answer answer;
    const auto held = all_held();
    offer(std::nullopt, held, answer);
    return answer;
  }

 private:
  struct Promises : OraclePromises<PlainFraction> {
    explicit Promises(const Cluster& cluster) : OraclePromises(cluster) {}
    std::int64_t typed(std::size_t i, std::size_t r) const { return typed_[i][r].floor(); }
    std::int64_t plain(std::size_t i) const { return plain_[i].floor(); }
  };

  std::size_t resources() const { return cluster_.resources.size(); }

  bool is_there(NodeId id) const {
    return std::ranges::any_of(cluster_.nodes, [&](const Node& n) { return n.id == id; });
  }
  bool is_leaf(NodeId id) const {
    return is_there(id) &&
           std::ranges::none_of(cluster_.nodes, [&](const Node& n) { return n.parent == id; });
  }
  const Node& node(NodeId id) const { return *std::ranges::find(cluster_.nodes, id, &Node::id); }

  // A leaf itself, and all groups above it.
  std::vector<NodeId> path(NodeId leaf) const {
    std::vector<NodeId> found;
    for (std::optional<NodeId> id = leaf; id; id = node(*id).parent) found.push_back(*id);
    return found;
  }

  bool is_above(NodeId id, NodeId leaf) const {
    const std::vector<NodeId> above = path(leaf);
    return std::ranges::find(above, id) != above.end();
  }

  void charge(NodeId leaf, const Holding& holding, std::int64_t at, bool more) {
    for (const NodeId id : path(leaf)) {
      std::vector<Usage>& usage = usage_[id];
      usage.resize(resources());
      for (std::size_t r = 0; r < holding.amounts.size(); ++r) {
        if (holding.amounts[r] == 0) continue;
        const Charge charge = *charge_of(holding.amounts[r], holding.price_thousandths);
        usage[r] = more ? share::hold(usage[r], half_life_, at, charge)
                        : share::release(usage[r], half_life_, at, charge);
      }
    }
  }

  // All that is charged to leaves below a node.
  Unsigned128 charge_below(NodeId id, std::size_t r) const {
    Unsigned128 sum = 0;
    for (const auto& [leaf, holdings] : holdings_) {
      if (holdings.empty() || !is_above(id, leaf)) continue;
      for (const Holding& holding : holdings) {
        sum += charge_of(holding.amounts[r], holding.price_thousandths)->thousandths;
      }
    }
    return sum;
  }

  // One more change only where something has changed, as each may round once.
  void settle(Usage& usage, Unsigned128 target, std::int64_t at) {
    const Unsigned128 before = usage.held.thousandths;
    if (target > before) usage = share::hold(usage, half_life_, at, {target - before});
    if (target < before) usage = share::release(usage, half_life_, at, {before - target});
  }

  void promise() {
    typed_.clear();
    plain_.clear();
    const Promises promises(cluster_);
    for (std::size_t i = 0; i < cluster_.nodes.size(); ++i) {
      const NodeId id = cluster_.nodes[i].id;
      for (std::size_t r = 0; r < resources(); ++r) typed_[id].push_back(promises.typed(i, r));
      plain_[id] = promises.plain(i);
    }
  }

  using AllHeld = std::map<NodeId, Amounts>;

  AllHeld all_held() const {
    AllHeld all;
    for (const Node& node : cluster_.nodes) all[node.id].resize(resources());
    for (const auto& [leaf, holdings] : holdings_) {
      for (const Holding& holding : holdings) {
        for (const NodeId id : path(leaf)) {
          for (std::size_t r = 0; r < resources(); ++r) all[id][r] += holding.amounts[r];
        }
      }
    }
    return all;
  }

  void offer(std::optional<NodeId> id, const AllHeld& held, Answer& answer) const {
    bool leaf = true;
    for (const Node& child : cluster_.nodes) {
      if (child.parent != id) continue;
      leaf = false;
      offer(child.id, held, answer);
      const auto offered = answer.offers.find(child.id);
      if (offered == answer.offers.end()) continue;
      answer.lines[id].insert(key(child, heads_.at(offered->second), held.at(child.id)));
    }
    if (leaf && id && heads_.contains(*id)) answer.offers.emplace(id, *id);
    if (const auto line = answer.lines.find(id); line != answer.lines.end()) {
      answer.offers.emplace(id, answer.offers.at(line->second.begin()->id));
    }
  }

  void judge_guarantee(SelectOracleKey& key, const Head& head, const Amounts& held) const {
    const std::vector<std::int64_t>& typed = typed_.at(key.id);
    const std::int64_t plain = plain_.at(key.id);
    bool with_gpus = false;
    std::int64_t all = 0, all_beyond = 0, all_typed = 0;
    for (std::size_t r = 0; r < resources(); ++r) {
      if (!cluster_.resources[r].gpu) continue;
      const std::int64_t after = held[r] + head.shape[r];
      with_gpus = with_gpus || head.shape[r] > 0;
      all += after;
      all_typed += typed[r];
      all_beyond += std::max<std::int64_t>(0, after - typed[r]);
    }
    bool one = false;
    Loose most;
    for (std::size_t r = 0; r < resources(); ++r) {
      if (head.shape[r] == 0 || cluster_.resources[r].gpu != with_gpus) continue;
      const std::int64_t after = held[r] + head.shape[r];
      if (!with_gpus && typed[r] == 0) continue;
      const bool by_type = after <= typed[r];
      if (!by_type && (!with_gpus || plain == 0 || all_beyond > plain)) return;
      one = true;
      most = std::max(
          most, by_type ? Loose(after) / Loose(typed[r]) : Loose(all) / Loose(all_typed + plain));
    }
    key.within = one;
    key.ratio = most;
  }

  // What counts of amounts: with Surplus::additive, what the guarantee does not cover.
  std::vector<Loose> counted(NodeId id, std::vector<Loose> amounts) const {
    if (cluster_.surplus == Surplus::floor) return amounts;
    Loose gpus;
    for (std::size_t r = 0; r < resources(); ++r) {
      amounts[r] = beyond(amounts[r], Loose(typed_.at(id)[r]));
      if (cluster_.resources[r].gpu) gpus = gpus + amounts[r];
    }
    const Loose plain = plain_.at(id);
    for (std::size_t r = 0; r < resources(); ++r) {
      if (!cluster_.resources[r].gpu || gpus == Loose(0)) continue;
      amounts[r] = amounts[r] * beyond(gpus, plain) / gpus;
    }
    return amounts;
  }

  Loose dominant(NodeId id, const Head& head, const std::vector<Loose>& amounts) const {
    const std::vector<Loose> above = counted(id, amounts);
    Loose most;
    for (std::size_t r = 0; r < resources(); ++r) {
      const Resource& resource = cluster_.resources[r];
      if (!resource.dominant || resource.capacity == 0) continue;
      if (!is_leaf(id) && head.shape[r] == 0) continue;
      most = std::max(most, above[r] / Loose(resource.capacity));
    }
    return most;
  }

  Loose fair(NodeId id, std::size_t r) const {
    const std::string text = fair_.at(id)[r].text();
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) return {Loose::Whole(text), 1};
    return {Loose::Whole(text.substr(0, slash)), Loose::Whole(text.substr(slash + 1))};
  }

  SelectOracleKey key(const Node& node, const Head& head, const Amounts& held) const {
    SelectOracleKey key{.id = node.id};
    key.last = node.weight == 0;
    key.waiting_since = head.waiting_since;
    judge_guarantee(key, head, held);
    std::vector<Loose> now, after, used;
    for (std::size_t r = 0; r < resources(); ++r) {
      now.emplace_back(held[r]);
      after.emplace_back(now[r] + Loose(head.shape[r]));
      const auto said = fair_.find(node.id);
      if (said != fair_.end() && !said->second.empty()) {
        after[r] = std::max(now[r], std::min(after[r], fair(node.id, r)));
      }
      const auto frozen = frozen_.find(node.id);
      const Unsigned128 ulps = frozen == frozen_.end() ? 0 : frozen->second[r].ulps;
      const Loose::Whole whole = (Loose::Whole(static_cast<std::uint64_t>(ulps >> 64U)) << 64) +
                                 Loose::Whole(static_cast<std::uint64_t>(ulps));
      used.emplace_back(whole, Loose::Whole(1000) << 47);
    }
    const auto mix = [&](const std::vector<Loose>& amounts) {
      const Loose present = Loose(1000 - lambda_) * dominant(node.id, head, amounts);
      const Loose past = Loose(lambda_) * dominant(node.id, head, used);
      return (present + past) / Loose(1000 * std::max<std::int64_t>(node.weight, 1));
    };
    key.before = mix(now);
    key.after = mix(after);
    return key;
  }

  HalfLife half_life_;
  std::int64_t lambda_;
  Cluster cluster_{};
  std::map<NodeId, std::vector<Holding>> holdings_{};
  std::map<NodeId, std::vector<Usage>> usage_{};
  std::map<NodeId, std::vector<Decayed>> frozen_{};
  std::map<NodeId, Head> heads_{};
  std::map<NodeId, std::vector<Fraction>> fair_{};
  std::map<NodeId, std::vector<std::int64_t>> typed_{};
  std::map<NodeId, std::int64_t> plain_{};
};

}  // namespace keel::share
