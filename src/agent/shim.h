// What a shim decides about its one task: when to start it, notify it, kill it, and what to record.
// Pure; apps/keel_shim.cpp drives it, adapters/processes does what it orders. Deterministic.
#pragma once

#include <cstdint>
#include <optional>

#include "model/job.h"
#include "model/units.h"

namespace keel {

// What was agreed before the start. All instants of this header are in boot time.
struct ShimTerms {
  Duration time_limit;                // from the start on, the grace included; 0 or less: none
  Duration grace;                     // between notice and kill
  Duration kill_bound = seconds(30);  // when it is over, the end is recorded as not clean
};

enum class ShimPhase : std::uint8_t {
  ready,     // nothing was started
  starting,  // a child lives that is not yet the task's program
  running,
  stopping,  // notice was given; until `kill_at`
  killing,   // whatever is left is killed, again and again
  unclean,   // recorded as not clean; the killing goes on
  done,      // recorded for good: the shim may leave
};

struct ShimState {
  ShimPhase phase{};
  StopCause cause{};  // of the first stop; later ones change nothing
  Instant started{};
  Instant kill_at{};
  Instant killing_since{};
  std::optional<Exit> recorded{};  // not clean
};

// What is so now. Read again before every step; no event is needed twice, and none is needed once.
struct ShimSeen {
  Instant now;
  Instant lease;                    // the task may run until then
  std::optional<StopCause> stop{};  // the agent's order
  bool started{};                   // the child has become the task's program
  std::optional<Exit> ended{};      // how the main process ended; cause and clean are not looked at
  bool left{};                      // some process of the task lives, the main one included
  bool heeding{};                   // one of those catches the stop signal
};

struct ShimOrders {
  bool start{};   // the main process
  bool notify{};  // the stop signal to those that catch it, to the main process where none does
  bool kill{};    // SIGKILL to all that is left
  std::optional<Exit> record{};  // write down, durably, this end
  bool leave{};                  // nothing remains to be done
  Instant wake_at = never;       // step again by then, sooner if anything happens
};

struct ShimStep {
  ShimState state;
  ShimOrders orders;
};

// One step. Orders are obeyed in the order of the fields above before the next step.
//
// A stop order, the lease's end and the time limit all lead to notice, grace and kill; the grace of
// a lease counts from its end and that of the limit lies inside it, so that a shim that was frozen
// keeps the bound. A main process that ends by itself takes the rest along at once; one that ends
// after a notice leaves the grace to those that still heed it. The record names a cause only if the
// notice came before the end.
ShimStep step(ShimState state, const ShimTerms& terms, const ShimSeen& seen);

}  // namespace keel
