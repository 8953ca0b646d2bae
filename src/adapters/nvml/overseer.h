// Keeps two keel-nvml processes at work, and the census up to date by what they say: one surveys
// the devices again and again, the other waits for events. Pure: its driver is
// adapters/nvml/devices.h.
//
// A survey goes on behind a device whose call hangs or kills the process: the rest of the host is
// not lost with it.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "adapters/nvml/census.h"
#include "adapters/nvml/session.h"

namespace keel::nvml {

enum class Line : std::uint8_t { survey, watch };
inline constexpr std::array lines{Line::survey, Line::watch};

class Overseer {
 public:
  struct Options {
    Patience patience{};
    Duration every = seconds(10);  // between the beginnings of two surveys
  };

  struct Order {
    enum class Kind : std::uint8_t { start, ask, kill, abandon };
    Line line{};
    Kind kind{};
    v1::NvmlQuestion question{};  // of `ask`
  };

  Overseer(Options options, XidCatalogue catalogue);

  // What is to be done now, each told as done by the functions below before this is asked again.
  // Orders to kill and to abandon need no telling.
  std::vector<Order> due(Instant now);
  Instant next_wake() const;

  void started(Line line);
  void not_started(Line line, const std::string& why, Instant now);
  void asked(Line line, Instant now);
  void heard(Line line, const v1::NvmlAnswer& answer, Instant now);
  void ended(Line line, const std::string& how, Instant now);  // "was killed by signal 11"
  void late_end(Line line, Instant now);                       // of one that was abandoned

  void hold(const std::set<DeviceId>& held, Instant now) { census_.hold(held, now); }

  const Census& census() const { return census_; }
  std::vector<std::string> take_news() { return census_.take_news(); }

  // What people should know besides the devices themselves; and of them.
  std::vector<std::string> warnings() const;

  // Everything that was read, for people.
  v1::NvmlReport report() const;

 private:
  struct Side {
    explicit Side(Patience patience) : session(patience) {}
    Session session;
    v1::NvmlCall call{};     // the last that was named
    std::string nonsense{};  // what it said, and should not have
    bool renewed{};          // it is killed to begin anew
  };

  Side& side(Line line) { return line == Line::survey ? survey_ : watch_; }
  bool wants(Line line, Instant now) const;
  v1::NvmlQuestion question_for(Line line) const;
  void hear_survey(const v1::NvmlAnswer& answer, Instant now);
  void hear_watch(const v1::NvmlAnswer& answer, Instant now);
  void broken(Line line, const std::string& why, Instant now);
  void give_up_round(const std::string& why, Instant now);
  void end_round(Instant next, Instant now);
  std::string overdue_words(const Side& side) const;

  Options options_;
  Census census_;
  Side survey_;
  Side watch_;
  bool in_round_{};                  // a survey is under way, in this process or the next
  std::uint32_t resume_{};           // the position from which on it is not done
  int silences_{};                   // in this round
  int bad_rounds_{};                 // in a row: with a silence
  Instant began_{};                  // the round
  Instant survey_at_{};              // when the next one is due
  std::set<std::string> watched_{};  // what could be read when the watch began
  std::string watch_trouble_{};
};

}  // namespace keel::nvml
