// All tasks of a gang, as seen by one of them: a star of TCP connections with rank 0 in its centre.
//
//   rank r > 0                     rank 0
//   hello(rank, world, run)  ─▶    known run, free rank?
//                            ◀─    welcome | refused
//   sum: frame(turn, values) ─▶    adds ranks 0, 1, 2, … in this order
//                            ◀─    frame(turn, sums)
//   broadcast:               ◀─    frame(turn, length), frame(turn, bytes)
//
// All tasks run on hosts of one byte order, so values travel as they lie in memory; the hello's
// magic would not match otherwise. Every frame carries the count of calls made so far: tasks that
// have fallen out of step notice it, rather than adding numbers that do not belong together.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bytes.h"
#include "connection.h"
#include "rendezvous.h"

namespace keel::digits {

// Adds `values` to `sums`, element by element. The order in which ranks are added is the caller's.
void add_to(std::span<double> sums, std::span<const double> values);

struct GangOptions {
  std::uint32_t run_id;  // Equal in all tasks of one attempt; a caller with another is refused.
  std::chrono::milliseconds peer_timeout{8000};
  std::chrono::milliseconds assembly_timeout{30'000};
  // Asked while the gang assembles, at least every half second; true makes open() throw Failure
  // with exit_stopped.
  std::function<bool()> give_up = [] { return false; };
};

// Each call is made by all ranks in the same order, and blocks until all have made it. Where a task
// is gone, or silent for longer than the timeout, it throws PeerLost.
class Gang {
 public:
  // Returns when all tasks have met. Throws Failure where they do not in time.
  static Gang open(const Rendezvous& rendezvous, const GangOptions& options);

  // Replaces the values by their sum over all ranks: the same bits everywhere and on every run.
  void sum(std::span<double> values);

  // Gives every rank what rank 0 passed; the others' argument is ignored.
  Bytes broadcast(Bytes bytes);

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::size_t world() const { return world_; }

 private:
  Gang(const Rendezvous& rendezvous, const GangOptions& options);

  void gather_callers(const Address& address, const GangOptions& options);
  void call_centre(const Address& address, const GangOptions& options);
  void send(std::size_t peer, std::span<const std::byte> bytes);
  void receive(std::size_t peer, std::span<std::byte> bytes);

  std::size_t rank_;
  std::size_t world_;
  std::chrono::milliseconds peer_timeout_;
  std::uint64_t turn_ = 0;
  std::vector<Socket> peers_;  // By rank. Rank 0 holds all others, the others hold rank 0.
};

}  // namespace keel::digits
