// Selection: who is next, and why. From the root down, at each pick, first the children whose
// offered job keeps them within their guarantee, the lowest held / guarantee first; then the lowest
// s = ((1 - lambda) a + lambda u) / weight after the start. Definitions are in ARCHITECTURE.md.
//
// An index that is told what changes: a start, an end or another head costs a key for each node on
// the way to the root, whatever waits behind the heads and however many tenants there are. Works in
// cycles: decayed usage is read at freeze() and stays as it was then until the next.
//
// Deterministic: keys are compared exactly, and the last comparison is an id. Amounts come from
// accepted specs, so what does not fit is a broken promise; only the tree can be refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "share/spot.h"
#include "share/standing.h"
#include "share/tree.h"
#include "share/usage.h"

namespace keel::share {

// How the present and the past are weighed.
struct Terms {
  HalfLife half_life;
  std::int64_t lambda_thousandths = 500;  // 0: what is held now only; 1000: decayed usage only
};

class Selector {
 public:
  explicit Selector(Terms terms) : terms_(terms) {}

  // ---- Between cycles.

  // The tree, from `at` on, and a new cycle. What is known of a node goes by its id: accounts,
  // heads and fair shares stay. What moves takes along what it holds and its own usage; groups keep
  // the usage that they had. Of whoever is gone the usage is remembered while any is left, for an
  // heir or for the same id. Resources keep their places; new ones come last. `demand`, `cap` and
  // limits of nodes are not looked at. On an error nothing has changed: beyond those of validate(),
  // `still_holds` for a leaf that holds something and is gone or a group, `wrong_length` for fewer
  // resources, and what is outside 0 … 1000 in lambda.
  Result<Done, ShareError> arrange(const Cluster& cluster, Terms terms, std::int64_t at_us);

  // The account of a node that the next arrange() brings in: after a restart, of all of them.
  void remember(NodeId id, Account account);

  // The leaf takes over the usage of one that is gone; it counts from the next freeze() on. False
  // where nothing is remembered of that one.
  bool inherit(NodeId leaf, NodeId gone, std::int64_t at_us);

  // What is entitled now, by resource, of a node; empty: the offered job counts in full.
  void set_fair(NodeId node, std::vector<Fraction> fair);

  // A cycle begins: decayed usage is that of `at_us`.
  void freeze(std::int64_t at_us);

  // ---- Within a cycle. `at_us` never goes back.

  // A job of the leaf takes devices, or gives back exactly what it took.
  void hold(NodeId leaf, const Holding& holding, std::int64_t at_us);
  void release(NodeId leaf, const Holding& holding, std::int64_t at_us);

  // The leaf's first job that is not blocked; none: it is out of line.
  void set_head(NodeId leaf, std::optional<Head> head);

  // The leaf whose head is next; none where nobody offers anything. Changes nothing: the caller
  // starts the job, or blocks it by the next head.
  std::optional<NodeId> pick();

  // ---- Read-outs.

  Standing standing(NodeId node);
  // The children of a node, or of the root, that offer something; who is next stands first.
  std::vector<NodeId> in_line(std::optional<NodeId> parent);
  const Account& account(NodeId node) const;
  const Effort& effort() const { return effort_; }

 private:
  std::size_t index_of(NodeId id) const;
  void change(NodeId leaf, const Holding& holding, std::int64_t at_us, bool more);
  void refresh(Spot& spot);
  void mark(std::size_t index);
  void settle();
  void rekey(std::size_t index);
  void replay(std::size_t index);
  bool precedes(std::size_t a, std::size_t b);
  std::uint32_t better(std::size_t parent, std::uint32_t a, std::uint32_t b);
  Result<Done, ShareError> may_arrange(const Cluster& cluster, const Terms& terms) const;
  void step_usage(std::int64_t at_us);
  void part_with(const Cluster& cluster, std::int64_t at_us);
  void plant_spots(const Cluster& cluster);
  void adopt(Spot& spot, std::optional<Spot> old);
  void sum_up(std::int64_t at_us);

  Terms terms_;
  Scale scale_{};
  std::int64_t now_us_{};
  std::int64_t frozen_at_us_{};
  std::uint64_t cycle_{};
  std::vector<Spot> spots_{};  // the root first, parents before children
  std::map<NodeId, std::size_t> index_{};
  std::map<NodeId, Account> remembered_{};
  std::vector<std::vector<std::size_t>> stale_{};  // by depth
  Effort effort_{};
};

}  // namespace keel::share
