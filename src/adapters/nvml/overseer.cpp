#include "adapters/nvml/overseer.h"

#include <algorithm>

#include "adapters/nvml/reader.h"
#include "wire/quantity.h"

namespace keel::nvml {
namespace {

// With more, it is not a device that hangs.
constexpr int silences_max = 3;

constexpr Duration every_max = minutes(5);
constexpr std::int64_t event_wait_ms_max = 5000;

v1::NvmlQuestion new_question() {
  v1::NvmlQuestion question;
  question.set_protocol(protocol);
  return question;
}

}  // namespace

Overseer::Overseer(Options options, XidCatalogue catalogue)
    : options_(options),
      census_(std::move(catalogue)),
      survey_(options.patience),
      watch_(options.patience) {}

// Whether there is anything to ask of this side.
bool Overseer::wants(Line line, Instant now) const {
  if (line == Line::survey) return in_round_ || now >= survey_at_;
  return !census_.readable().empty();
}

v1::NvmlQuestion Overseer::question_for(Line line) const {
  v1::NvmlQuestion question = new_question();
  if (line == Line::survey) {
    question.mutable_survey()->set_from(in_round_ ? resume_ : 0);
  } else {
    // It must come back well within the patience with any call.
    const std::int64_t half_ms = options_.patience.call.us / 2000;
    question.mutable_watch()->set_wait_ms(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(half_ms, 1, event_wait_ms_max)));
  }
  return question;
}

std::vector<Overseer::Order> Overseer::due(Instant now) {
  std::vector<Order> orders;
  for (const Line line : lines) {
    Side& one = side(line);
    switch (one.session.due(now)) {
      case Session::Step::start:
        if (wants(line, now)) orders.push_back({line, Order::Kind::start});
        break;
      case Session::Step::kill:
        if (!one.renewed) {
          broken(line, one.nonsense.empty() ? overdue_words(one) : one.nonsense, now);
        }
        one.session.killed(now);
        orders.push_back({line, Order::Kind::kill});
        break;
      case Session::Step::abandon:
        one.session.abandoned(now);
        if (one.session.is_stuck() && line == Line::survey) {
          give_up_round("keel-nvml processes hang in the kernel and cannot be killed", now);
        }
        orders.push_back({line, Order::Kind::abandon});
        break;
      case Session::Step::none: break;
    }
    if (one.session.is_idle() && wants(line, now)) {
      orders.push_back({line, Order::Kind::ask, question_for(line)});
    }
  }
  return orders;
}

Instant Overseer::next_wake() const {
  Instant wake = never;
  const bool resting = survey_.session.is_resting();
  if (survey_.session.is_idle()) {
    wake = in_round_ ? Instant{} : survey_at_;
  } else {
    wake = survey_.session.next_wake();
    if (resting && !in_round_) wake = std::max(wake, survey_at_);
  }
  const bool idle_watch = watch_.session.is_resting() && census_.readable().empty();
  return idle_watch ? wake : std::min(wake, watch_.session.next_wake());
}

void Overseer::started(Line line) {
  Side& one = side(line);
  one.session.started();
  one.call.Clear();
  one.nonsense.clear();
  one.renewed = false;
}

void Overseer::not_started(Line line, const std::string& why, Instant now) {
  side(line).session.not_started(now);
  if (line == Line::survey) {
    give_up_round(why, now);
  } else {
    watch_trouble_ = why;
  }
}

void Overseer::asked(Line line, Instant now) {
  side(line).session.asked(now);
  side(line).call.Clear();
  if (line == Line::watch) {
    watched_ = census_.readable();
    return;
  }
  if (in_round_) return;
  in_round_ = true;
  resume_ = 0;
  silences_ = 0;
  began_ = now;
  census_.begin(now);
}

std::string Overseer::overdue_words(const Side& side) const {
  const std::string& function = side.call.function();
  return function.empty() ? "keel-nvml does not answer" : function + " does not return";
}

void Overseer::heard(Line line, const v1::NvmlAnswer& answer, Instant now) {
  Side& one = side(line);
  if (!one.session.is_asked()) return;
  if (answer.protocol() != protocol) {
    one.nonsense = "keel-nvml is not of the same build: it speaks protocol " +
                   std::to_string(answer.protocol()) + ", not " + std::to_string(protocol);
    one.session.give_up(now);
  } else if (answer.has_calling()) {
    // A wait that came back is a good sign; a first one may end at once.
    const bool waited = line == Line::watch && one.call.function() == "nvmlEventSetWait_v2";
    if (waited) one.session.well();
    one.call = answer.calling();
    one.session.calling(one.call.function(), now);
  } else if (line == Line::survey) {
    hear_survey(answer, now);
  } else {
    hear_watch(answer, now);
  }
}

void Overseer::hear_survey(const v1::NvmlAnswer& answer, Instant now) {
  if (answer.has_driver()) census_.tell(answer.driver());
  if (answer.has_device()) census_.found(answer.device());
  if (answer.has_unreadable()) census_.unreadable(answer.unreadable());
  if (answer.has_done()) {
    survey_.session.answered();
    census_.complete();
    bad_rounds_ = silences_ == 0 ? 0 : bad_rounds_ + 1;
    // A device that hangs each time costs a process each time.
    Duration pause = options_.every;
    for (int i = 0; i < bad_rounds_ && pause < every_max; ++i) pause = pause + pause;
    end_round(began_ + std::max(options_.every, std::min(pause, every_max)), now);
  }
  if (answer.has_failure()) {
    give_up_round(answer.failure().text(), now);  // the next process tries again
  }
}

void Overseer::hear_watch(const v1::NvmlAnswer& answer, Instant now) {
  if (answer.has_watching()) watch_trouble_.clear();
  if (answer.has_event() && census_.happened(answer.event()) && !in_round_) survey_at_ = now;
  if (answer.has_failure()) {
    watch_trouble_ = answer.failure().text();
    if (!in_round_) survey_at_ = now;
  }
}

void Overseer::end_round(Instant next, Instant now) {
  in_round_ = false;
  survey_at_ = next;
  // What was not there when the watch began is not watched.
  if (!watch_.session.is_asked() || std::ranges::includes(watched_, census_.readable())) return;
  watch_.renewed = true;
  watch_.session.give_up(now);
}

void Overseer::give_up_round(const std::string& why, Instant now) {
  census_.fail(why);
  end_round(now, now);
}

// The process of this line is no use any more.
void Overseer::broken(Line line, const std::string& why, Instant now) {
  if (line == Line::watch) {
    watch_trouble_ = why;
    return;
  }
  if (!in_round_) return;
  const v1::NvmlCall& call = survey_.call;
  if (!call.has_position() || silences_ >= silences_max) return give_up_round(why, now);
  ++silences_;
  census_.silent(call, why);
  resume_ = call.position() + 1;
}

void Overseer::ended(Line line, const std::string& how, Instant now) {
  Side& one = side(line);
  // What was killed, and what has said why it ends, is no surprise.
  const bool surprise = one.session.is_asked() && (line == Line::watch || in_round_);
  if (surprise && (line == Line::survey || watch_trouble_.empty())) {
    const std::string& function = one.call.function();
    broken(line, "keel-nvml " + how + (function.empty() ? " at its start" : " in " + function),
           now);
  }
  one.session.gone(now);
}

void Overseer::late_end(Line line, Instant now) { side(line).session.late_end(now); }

std::vector<std::string> Overseer::warnings() const {
  std::vector<std::string> list = census_.warnings();
  if (!watch_trouble_.empty() && !census_.readable().empty()) {
    list.push_back("GPU events are not heard: " + watch_trouble_);
  }
  return list;
}

v1::NvmlReport Overseer::report() const {
  v1::NvmlReport report = census_.report();
  report.clear_warnings();
  for (const std::string& warning : warnings()) report.add_warnings(warning);
  return report;
}

}  // namespace keel::nvml
