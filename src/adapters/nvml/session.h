// One keel-nvml process after another, as their owner sees them. Pure: it decides when a process is
// due to start, when it has been silent for too long and is to be killed, how long to wait before
// the next one, and what becomes of one that not even SIGKILL ends.
//
//   resting ─▶ start ─▶ idle ─▶ asked ─▶ (a call is named, again and again) ─▶ idle
//      ▲                          │ a call is overdue
//      │                          ▼
//      └── reaped ◀── dying ── kill ──▶ (still there after a while) abandoned, and counted
#pragma once

#include <cstdint>
#include <string>

#include "model/units.h"

namespace keel::nvml {

struct Patience {
  Duration call = seconds(10);  // for one NVML call
  Duration init = minutes(1);   // for those that may wake all GPUs up
  Duration kill = seconds(2);   // for a killed process to be gone
  Duration rest_first = seconds(1);
  Duration rest_max = minutes(5);
  int abandoned_max = 3;  // processes that hang in the kernel
};

class Session {
 public:
  enum class Step : std::uint8_t {
    none,
    start,    // a process
    kill,     // the process
    abandon,  // it: do not wait for it any more
  };

  explicit Session(Patience patience) : patience_(patience) {}

  // What is to be done now. Asking again changes nothing.
  Step due(Instant now) const;
  Instant next_wake() const { return wake_; }

  bool is_resting() const { return state_ == State::resting; }
  bool is_idle() const { return state_ == State::idle; }
  bool is_asked() const { return state_ == State::asked; }

  // What was done, or has come.
  void started();
  void not_started(Instant now);
  void asked(Instant now);
  void calling(const std::string& function, Instant now);
  void answered();            // in full
  void well();                // what it said is no answer yet, but shows that all is well
  void give_up(Instant now);  // it makes no sense: it is due to be killed
  void killed(Instant now);
  void abandoned(Instant now);
  void gone(Instant now);  // its process has ended and is reaped

  // One of those that were abandoned has ended after all.
  void late_end(Instant now);

  // Where nothing can be started because too many could not be ended.
  bool is_stuck() const { return abandoned_ >= patience_.abandoned_max; }

 private:
  enum class State : std::uint8_t { resting, idle, asked, dying };

  void rest(Instant now);

  Patience patience_;
  State state_{};
  Instant wake_{};
  int failures_{};  // in a row
  bool fresh_{};    // its process has not got through a question yet: devices may have to wake up
  int abandoned_{};
};

}  // namespace keel::nvml
