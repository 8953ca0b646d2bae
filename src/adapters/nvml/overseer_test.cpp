// The overseer on simulated time: no process, no library.
#include "adapters/nvml/overseer.h"

#include <gmock/gmock.h>

#include <iostream>
#include <random>

namespace keel::nvml {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Kind = Overseer::Order::Kind;

const std::vector<std::string> uuids{"GPU-00000000", "GPU-11111111", "GPU-22222222"};

v1::NvmlAnswer answer() {
  v1::NvmlAnswer answer;
  answer.set_protocol(1);
  return answer;
}

v1::NvmlAnswer calling(const std::string& function, int position = -1,
                       const std::string& uuid = "") {
  v1::NvmlAnswer next = answer();
  next.mutable_calling()->set_function(function);
  next.mutable_calling()->set_uuid(uuid);
  if (position >= 0) next.mutable_calling()->set_position(static_cast<std::uint32_t>(position));
  return next;
}

v1::NvmlAnswer device(const std::string& uuid) {
  v1::NvmlAnswer next = answer();
  next.mutable_device()->set_uuid(uuid);
  next.mutable_device()->set_name("NVIDIA H200");
  return next;
}

v1::NvmlAnswer done() {
  v1::NvmlAnswer next = answer();
  next.mutable_done();
  return next;
}

v1::NvmlAnswer failure(const std::string& text) {
  v1::NvmlAnswer next = answer();
  next.mutable_failure()->set_text(text);
  return next;
}

class OverseerTest : public testing::Test {
 protected:
  static Overseer new_overseer() {
    auto catalogue = XidCatalogue::parse(built_in_xid_catalogue());
    EXPECT_TRUE(catalogue) << catalogue.error();
    return Overseer({}, *std::move(catalogue));
  }

  // Lets time pass up to the next thing that is due for the survey, does it and gives it.
  Overseer::Order next_order() {
    for (int i = 0; i < 100; ++i) {
      const auto orders = overseer_.due(now_);
      for (const Overseer::Order& order : orders) {
        if (order.kind == Kind::start) overseer_.started(order.line);
        if (order.kind == Kind::ask) overseer_.asked(order.line, now_);
        if (order.line == Line::survey) return order;
      }
      if (orders.empty()) now_ = std::max(now_, overseer_.next_wake());
    }
    ADD_FAILURE() << "nothing is ever due";
    return {};
  }

  void hear(const v1::NvmlAnswer& what) { overseer_.heard(Line::survey, what, now_); }

  // The devices from this position on answer well.
  void answer_from(std::uint32_t position) {
    for (; position < uuids.size(); ++position) {
      hear(calling("nvmlDeviceGetUUID", static_cast<int>(position), uuids[position]));
      hear(device(uuids[position]));
    }
    hear(done());
  }

  void survey_all() {
    while (next_order().kind != Kind::ask) {
    }
    answer_from(0);
  }

  DeviceHealth health(std::size_t number) const {
    return overseer_.census().devices().at(number).health;
  }

  Overseer overseer_ = new_overseer();
  Instant now_{};
};

TEST_F(OverseerTest, surveys_again_and_again_with_one_process) {
  EXPECT_EQ(next_order().kind, Kind::start);
  EXPECT_EQ(next_order().kind, Kind::ask);
  answer_from(0);
  EXPECT_EQ(overseer_.census().devices().size(), 3u);
  const Instant before = now_;
  const Overseer::Order again = next_order();
  EXPECT_EQ(again.kind, Kind::ask) << "no other process is started";
  EXPECT_EQ(again.question.survey().from(), 0u);
  EXPECT_EQ((now_ - before).us, seconds(10).us);
}

TEST_F(OverseerTest, kills_when_a_call_is_overdue_and_goes_on_behind_its_device) {
  survey_all();
  EXPECT_EQ(next_order().kind, Kind::ask);
  hear(calling("nvmlDeviceGetUUID", 0, uuids[0]));
  hear(device(uuids[0]));
  now_ = now_ + seconds(9);  // slow, but not too slow: every call has the whole time
  hear(calling("nvmlDeviceGetTemperature", 1, uuids[1]));
  const Instant asked = now_;
  EXPECT_EQ(next_order().kind, Kind::kill);
  EXPECT_EQ((now_ - asked).us, seconds(10).us);
  EXPECT_EQ(health(1), DeviceHealth::draining);
  overseer_.ended(Line::survey, "was killed by signal 9", now_);
  EXPECT_EQ(next_order().kind, Kind::start);
  const Overseer::Order rest = next_order();
  EXPECT_EQ(rest.kind, Kind::ask);
  EXPECT_EQ(rest.question.survey().from(), 2u);
  answer_from(2);
  EXPECT_EQ(health(0), DeviceHealth::healthy);
  EXPECT_EQ(health(1), DeviceHealth::draining);
  EXPECT_EQ(health(2), DeviceHealth::healthy);
  EXPECT_THAT(
      overseer_.warnings(),
      testing::ElementsAre(uuids[1] + " is draining: nvmlDeviceGetTemperature does not return"));
  survey_all();
  EXPECT_EQ(health(1), DeviceHealth::healthy) << "its calls return again";
  EXPECT_THAT(overseer_.warnings(), IsEmpty());
}

TEST_F(OverseerTest, a_device_that_hangs_each_time_is_asked_less_and_less_often) {
  survey_all();
  std::vector<std::int64_t> pauses;
  for (int round = 0; round < 8; ++round) {
    const Instant before = now_;
    while (next_order().kind != Kind::ask) {
    }
    pauses.push_back((now_ - before).us / 1'000'000);
    hear(calling("nvmlDeviceGetTemperature", 0, uuids[0]));
    EXPECT_EQ(next_order().kind, Kind::kill);
    overseer_.ended(Line::survey, "was killed by signal 9", now_);
    while (next_order().kind != Kind::ask) {
    }
    answer_from(1);
  }
  for (std::size_t i = 2; i < pauses.size(); ++i) EXPECT_GE(pauses[i], pauses[i - 1]);
  EXPECT_GT(pauses[4], 60);
  EXPECT_LE(pauses.back(), 300);
}

TEST_F(OverseerTest, a_process_that_dies_in_a_call_is_no_different_from_one_that_hangs) {
  survey_all();
  EXPECT_EQ(next_order().kind, Kind::ask);
  hear(calling("nvmlDeviceGetName", 0, uuids[0]));
  overseer_.ended(Line::survey, "was killed by signal 11", now_);
  EXPECT_THAT(
      overseer_.warnings(),
      testing::Contains(HasSubstr("keel-nvml was killed by signal 11 in nvmlDeviceGetName")));
  EXPECT_EQ(next_order().kind, Kind::start);
  EXPECT_EQ(next_order().question.survey().from(), 1u);
}

TEST_F(OverseerTest, when_the_whole_library_hangs_nobody_is_vouched_for) {
  survey_all();
  EXPECT_EQ(next_order().kind, Kind::ask);
  hear(calling("nvmlDeviceGetCount_v2"));
  EXPECT_EQ(next_order().kind, Kind::kill);
  for (std::size_t i = 0; i < uuids.size(); ++i) EXPECT_EQ(health(i), DeviceHealth::draining);
  overseer_.ended(Line::survey, "was killed by signal 9", now_);
  survey_all();
  for (std::size_t i = 0; i < uuids.size(); ++i) EXPECT_EQ(health(i), DeviceHealth::healthy);
}

TEST_F(OverseerTest, a_process_that_says_nothing_at_all_accuses_no_device) {
  survey_all();
  EXPECT_EQ(next_order().kind, Kind::ask);
  EXPECT_EQ(next_order().kind, Kind::kill);
  overseer_.ended(Line::survey, "was killed by signal 9", now_);
  for (std::size_t i = 0; i < uuids.size(); ++i) EXPECT_EQ(health(i), DeviceHealth::draining);
  EXPECT_THAT(overseer_.warnings(),
              testing::Contains("GPUs cannot be read: keel-nvml does not answer"));
  while (next_order().kind != Kind::ask) {
  }
  answer_from(0);
  for (std::size_t i = 0; i < uuids.size(); ++i) EXPECT_EQ(health(i), DeviceHealth::healthy);
}

TEST_F(OverseerTest, init_may_take_longer_than_other_calls) {
  EXPECT_EQ(next_order().kind, Kind::start);
  EXPECT_EQ(next_order().kind, Kind::ask);
  hear(calling("nvmlInit_v2"));
  const Instant asked = now_;
  EXPECT_EQ(next_order().kind, Kind::kill);
  EXPECT_EQ((now_ - asked).us, minutes(1).us);
}

TEST_F(OverseerTest, without_a_library_there_are_no_devices_and_the_tries_become_rare) {
  Duration pause{};
  for (int i = 0; i < 12; ++i) {
    const Instant before = now_;
    EXPECT_EQ(next_order().kind, Kind::start);
    EXPECT_GE((now_ - before).us, pause.us);
    pause = now_ - before;
    EXPECT_EQ(next_order().kind, Kind::ask);
    hear(failure("libnvidia-ml.so.1: cannot open shared object file"));
    overseer_.ended(Line::survey, "ended with code 0", now_);
    EXPECT_TRUE(overseer_.census().is_known());
  }
  EXPECT_EQ(pause.us, minutes(5).us);
  EXPECT_THAT(overseer_.census().devices(), IsEmpty());
  EXPECT_THAT(overseer_.warnings(),
              testing::ElementsAre(
                  "GPUs cannot be read: libnvidia-ml.so.1: cannot open shared object file"));
}

// G10
TEST_F(OverseerTest, processes_that_no_signal_ends_are_few_and_counted) {
  survey_all();
  int starts = 0;
  for (int i = 0; i < 3; ++i) {
    while (next_order().kind != Kind::ask) {
    }
    ++starts;
    hear(calling("nvmlDeviceGetCount_v2"));
    EXPECT_EQ(next_order().kind, Kind::kill);
    const Instant killed = now_;
    EXPECT_EQ(next_order().kind, Kind::abandon);
    EXPECT_EQ((now_ - killed).us, seconds(2).us);
  }
  now_ = now_ + hours(24);
  for (const Overseer::Order& order : overseer_.due(now_)) {
    EXPECT_EQ(order.line, Line::watch) << "a fourth was started, after " << starts;
  }
  EXPECT_THAT(overseer_.warnings().front(), HasSubstr("hang in the kernel"));
  EXPECT_EQ(health(0), DeviceHealth::draining);
  overseer_.late_end(Line::survey, now_);
  survey_all();
  EXPECT_EQ(health(0), DeviceHealth::healthy);
}

TEST_F(OverseerTest, a_process_of_another_build_is_not_believed) {
  EXPECT_EQ(next_order().kind, Kind::start);
  EXPECT_EQ(next_order().kind, Kind::ask);
  v1::NvmlAnswer strange = device(uuids[0]);
  strange.set_protocol(2);
  hear(strange);
  const Instant heard = now_;
  EXPECT_EQ(next_order().kind, Kind::kill);
  EXPECT_EQ(now_, heard);
  EXPECT_THAT(overseer_.census().devices(), IsEmpty());
  EXPECT_THAT(overseer_.warnings(), testing::ElementsAre(HasSubstr("speaks protocol 2, not 1")));
}

TEST_F(OverseerTest, an_event_of_the_hardware_is_looked_into_at_once) {
  survey_all();
  for (const Overseer::Order& order : overseer_.due(now_)) {
    EXPECT_EQ(order.line, Line::watch);
    overseer_.started(order.line);
  }
  for (const Overseer::Order& order : overseer_.due(now_)) overseer_.asked(order.line, now_);
  v1::NvmlAnswer xid = answer();
  xid.mutable_event()->set_uuid(uuids[1]);
  xid.mutable_event()->set_xid(31);
  overseer_.heard(Line::watch, xid, now_);
  EXPECT_THAT(overseer_.due(now_), IsEmpty()) << "a program's fault is no reason to look";
  xid.mutable_event()->set_xid(79);
  overseer_.heard(Line::watch, xid, now_);
  EXPECT_EQ(health(1), DeviceHealth::failed);
  const auto orders = overseer_.due(now_);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].line, Line::survey);
  EXPECT_EQ(orders[0].kind, Kind::ask);
}

// Whatever the processes say or do, and in whatever order: one process at most for each purpose,
// none killed before its time, devices never forgotten, and the survey comes back to life.
class AnyOrder : public OverseerTest {
 protected:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  void obey(const Overseer::Order& order) {
    switch (order.kind) {
      case Kind::start:
        EXPECT_FALSE(lives_[order.line]);
        EXPECT_LT(left_[order.line], 3);
        if (draw(20) == 0) return overseer_.not_started(order.line, "no memory", now_);
        overseer_.started(order.line);
        lives_[order.line] = true;
        break;
      case Kind::ask:
        EXPECT_TRUE(lives_[order.line]);
        overseer_.asked(order.line, now_);
        last_call_[order.line] = now_;
        break;
      case Kind::kill:
        EXPECT_TRUE(lives_[order.line]);
        // The watch may be killed to begin anew.
        if (order.line == Line::watch) break;
        EXPECT_GE((now_ - last_call_[order.line]).us, seconds(10).us);
        break;
      case Kind::abandon:
        lives_[order.line] = false;
        ++left_[order.line];
        break;
    }
  }

  void say_something(Line line) {
    const int position = draw(3);
    const std::string& uuid = uuids[static_cast<std::size_t>(position)];
    v1::NvmlAnswer event = answer();
    event.mutable_event()->set_uuid(uuid);
    event.mutable_event()->set_xid(static_cast<std::uint32_t>(draw(160)));
    switch (draw(6)) {
      case 0:
        last_call_[line] = now_;
        return overseer_.heard(line, calling("nvmlX", position, uuid), now_);
      case 1: return overseer_.heard(Line::survey, device(uuid), now_);
      case 2: return overseer_.heard(Line::survey, done(), now_);
      case 3:
        if (lives_[Line::watch]) overseer_.heard(Line::watch, event, now_);
        return;
      case 4:
        if (draw(4) == 0) overseer_.heard(line, failure("broken"), now_);
        return;
      default:
        if (draw(3) != 0) return;
        overseer_.ended(line, "was killed by signal 9", now_);
        lives_[line] = false;
    }
  }

  std::mt19937 random_;
  std::map<Line, bool> lives_;
  std::map<Line, int> left_;  // abandoned
  std::map<Line, Instant> last_call_;
};

TEST_F(AnyOrder, of_events_keeps_the_overseers_promises) {
  const auto seed = std::random_device()();
  std::cout << "seed: " << seed << std::endl;
  random_.seed(seed);
  std::size_t known = 0;
  for (int step = 0; step < 20'000; ++step) {
    for (const Overseer::Order& order : overseer_.due(now_)) obey(order);
    const Line line = lines[static_cast<std::size_t>(draw(2))];
    switch (draw(8)) {
      case 0: now_ = now_ + milliseconds(draw(15'000)); break;
      case 1: now_ = std::min(std::max(now_, overseer_.next_wake()), now_ + hours(1)); break;
      case 2:
        if (left_[line] == 0) break;
        overseer_.late_end(line, now_);
        --left_[line];
        break;
      default:
        if (lives_[Line::survey] && (line == Line::survey || lives_[line])) say_something(line);
    }
    EXPECT_GE(overseer_.census().devices().size(), known);
    known = overseer_.census().devices().size();
    if (HasFailure()) FAIL() << "in step " << step;
  }
  for (const Line line : lines) {
    if (lives_[line]) overseer_.ended(line, "was killed by signal 9", now_);
    for (; left_[line] > 0; --left_[line]) overseer_.late_end(line, now_);
  }
  for (int i = 0; i < 3; ++i) survey_all();
  for (const std::string& warning : overseer_.census().warnings()) {
    EXPECT_THAT(warning, testing::Not(HasSubstr("does not return")));
  }
}

}  // namespace
}  // namespace keel::nvml
