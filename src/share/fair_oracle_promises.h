// What each node is promised, for the second answer to what fair shares are (fair_oracle.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "share/tree.h"

namespace keel::share {

template <class Q>
class OraclePromises {
 public:
  bool was_cut(std::size_t i) const { return cut_[i]; }

 protected:
  explicit OraclePromises(const Cluster& cluster)
      : cluster_(cluster), count_(cluster.nodes.size()) {
    for (std::size_t i = 0; i < count_; ++i) index_[cluster.nodes[i].id] = i;
    for (std::size_t i = 0; i < count_; ++i) {
      path_.emplace_back();
      for (std::optional<std::size_t> n = i; n; n = parent(*n)) path_[i].push_back(*n);
      deepest_ = std::max(deepest_, path_[i].size());
    }
    promise();
  }

  std::size_t resources() const { return cluster_.resources.size(); }
  const Node& node(std::size_t i) const { return cluster_.nodes[i]; }
  bool is_gpu(std::size_t r) const { return cluster_.resources[r].gpu; }
  Q capacity(std::size_t r) const { return Q(cluster_.resources[r].capacity); }
  std::optional<std::size_t> parent(std::size_t i) const {
    if (!node(i).parent) return std::nullopt;
    return index_.at(*node(i).parent);
  }
  std::vector<std::size_t> children(std::optional<std::size_t> of) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < count_; ++i) {
      if (parent(i) == of) found.push_back(i);
    }
    return found;
  }
  std::vector<std::size_t> gpus() const {
    std::vector<std::size_t> found;
    for (std::size_t r = 0; r < resources(); ++r) {
      if (is_gpu(r)) found.push_back(r);
    }
    return found;
  }
  Q total(const std::vector<Q>& of, const std::vector<std::size_t>& which) const {
    Q sum = 0;
    for (const std::size_t r : which) sum += of[r];
    return sum;
  }

  Q all_gpus(std::size_t i) const { return total(typed_[i], gpus()) + plain_[i]; }

  Q size(std::size_t i) const {
    Q most = 0;
    Q fleet = 0;
    for (std::size_t r = 0; r < resources(); ++r) {
      if (capacity(r) > Q(0)) most = std::max(most, Q(typed_[i][r] / capacity(r)));
      if (is_gpu(r)) fleet += capacity(r);
    }
    return fleet > Q(0) ? std::max(most, Q(plain_[i] / fleet)) : most;
  }

 private:
  // ---- Promises: what each node is guaranteed, cut from the root down.
  void promise() {
    typed_.assign(count_, std::vector<Q>(resources()));
    plain_.assign(count_, Q(0));
    cut_.assign(count_, false);
    for (std::size_t depth = deepest_; depth > 0; --depth) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (path_[i].size() == depth) sum_up(i);
      }
    }
    std::vector<Q> fleet;
    for (std::size_t r = 0; r < resources(); ++r) fleet.push_back(capacity(r));
    hand_down(std::nullopt, fleet, Q(0), false);
  }

  void sum_up(std::size_t i) {
    for (const std::size_t child : children(i)) {
      for (std::size_t r = 0; r < resources(); ++r) typed_[i][r] += typed_[child][r];
      plain_[i] += plain_[child];
    }
    const auto& said = node(i).guarantee;
    if (!said) return;
    plain_[i] = Q(said->any_gpu);
    for (std::size_t r = 0; r < resources(); ++r) {
      if (!said->of.empty()) typed_[i][r] = Q(said->of[r]);
      if (said->of.empty() && is_gpu(r)) typed_[i][r] = 0;
    }
  }

  void hand_down(std::optional<std::size_t> i, std::vector<Q> has, Q has_plain, bool own) {
    std::vector<Q> sum(resources());
    Q sum_plain = 0;
    for (const std::size_t child : children(i)) {
      for (std::size_t r = 0; r < resources(); ++r) sum[r] += typed_[child][r];
      sum_plain += plain_[child];
    }
    Q left = total(has, gpus()) + has_plain;
    std::vector<Q> part(resources(), Q(1));
    for (std::size_t r = 0; r < resources(); ++r) {
      Q there = has[r];
      Q wanted = sum[r];
      if (is_gpu(r) && own && has_plain > Q(0)) {
        there = has_plain;
        wanted = total(sum, gpus());
      }
      if (wanted > there) part[r] = there / wanted;
      if (is_gpu(r)) left -= sum[r] * part[r];
    }
    const Q plain_part = sum_plain > left ? Q(left / sum_plain) : Q(1);
    for (const std::size_t child : children(i)) {
      for (std::size_t r = 0; r < resources(); ++r) {
        if (part[r] != Q(1) && typed_[child][r] != Q(0)) cut_[child] = true;
        typed_[child][r] = typed_[child][r] * part[r];
      }
      if (plain_part != Q(1) && plain_[child] != Q(0)) cut_[child] = true;
      plain_[child] = plain_[child] * plain_part;
      hand_down(child, typed_[child], plain_[child], node(child).guarantee.has_value());
    }
  }

 protected:
  const Cluster& cluster_;
  std::size_t count_;
  std::map<NodeId, std::size_t> index_;
  std::vector<std::vector<std::size_t>> path_;  // the node itself first
  std::size_t deepest_ = 0;
  std::vector<std::vector<Q>> typed_;
  std::vector<Q> plain_;
  std::vector<bool> cut_;
};

}  // namespace keel::share
