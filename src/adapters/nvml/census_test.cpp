#include "adapters/nvml/census.h"

#include <gmock/gmock.h>

namespace keel::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t h100_bytes =
    85'520'809'984;  // 81,559 MiB and a little: exact, no power of 10

const std::string one = "GPU-11111111", two = "GPU-22222222", three = "GPU-33333333";

Census new_census() {
  auto catalogue = XidCatalogue::parse(built_in_xid_catalogue());
  EXPECT_TRUE(catalogue) << catalogue.error();
  return Census(*std::move(catalogue));
}

v1::NvmlDevice reading(const std::string& uuid) {
  v1::NvmlDevice device;
  device.set_uuid(uuid);
  device.set_name("NVIDIA H100 80GB HBM3");
  device.set_memory_total_bytes(h100_bytes);
  device.set_architecture(9);
  device.set_processes_read(true);
  return device;
}

v1::NvmlEvent event(const std::string& uuid, std::uint32_t xid) {
  v1::NvmlEvent event;
  event.set_uuid(uuid);
  event.set_xid(xid);
  return event;
}

// A survey every second.
class CensusTest : public testing::Test {
 protected:
  void survey(const std::vector<v1::NvmlDevice>& readings) {
    now_ = now_ + seconds(1);
    census_.begin(now_);
    for (const v1::NvmlDevice& device : readings) census_.found(device);
    census_.complete();
  }

  void survey_of(const std::vector<std::string>& uuids) {
    std::vector<v1::NvmlDevice> readings;
    for (const std::string& uuid : uuids) readings.push_back(reading(uuid));
    survey(readings);
  }

  DeviceHealth health(const std::string& uuid) const {
    for (const Device& device : census_.devices()) {
      if (device.id.uuid == uuid) return device.health;
    }
    ADD_FAILURE() << uuid << " is not listed";
    return {};
  }

  std::string why(const std::string& uuid) const {
    for (const std::string& warning : census_.warnings()) {
      if (warning.starts_with(uuid)) return warning;
    }
    return "";
  }

  Census census_ = new_census();
  Instant now_{};
};

TEST_F(CensusTest, lists_what_a_survey_found_by_uuid) {
  EXPECT_FALSE(census_.is_known());
  survey_of({two, one});
  EXPECT_TRUE(census_.is_known());
  const Device expected{.id = {one}, .model = "h100-80gb", .memory = {h100_bytes}};
  ASSERT_EQ(census_.devices().size(), 2u);
  EXPECT_EQ(census_.devices()[0], expected);
  EXPECT_EQ(census_.devices()[1].id.uuid, two);
  EXPECT_THAT(census_.warnings(), IsEmpty());
}

// B-C11, G1
TEST_F(CensusTest, one_lost_device_fails_alone_and_stays_listed) {
  survey_of({one, two, three});
  census_.begin(now_);
  census_.found(reading(one));
  v1::NvmlUnreadable lost;
  lost.set_position(1);
  lost.set_function("nvmlDeviceGetHandleByIndex_v2");
  lost.set_text("GPU is lost (15)");
  census_.unreadable(lost);
  census_.found(reading(three));
  census_.complete();
  EXPECT_EQ(health(one), DeviceHealth::healthy);
  EXPECT_EQ(health(two), DeviceHealth::failed);
  EXPECT_EQ(health(three), DeviceHealth::healthy);
  EXPECT_EQ(why(two), two + " is failed: nvmlDeviceGetHandleByIndex_v2: GPU is lost (15)");
}

// B-C10, G7
TEST_F(CensusTest, a_device_that_comes_back_at_another_position_is_the_same_and_well_again) {
  survey_of({one, two, three});
  const auto before = census_.devices();
  EXPECT_TRUE(census_.happened(event(two, 79)));
  survey_of({one, three});
  EXPECT_EQ(health(two), DeviceHealth::failed);
  survey_of({one, three, two});
  EXPECT_EQ(census_.devices(), before);
}

TEST_F(CensusTest, an_xid_stays_while_the_device_was_not_away) {
  survey_of({one});
  EXPECT_TRUE(census_.happened(event(one, 48)));
  survey_of({one});
  EXPECT_EQ(health(one), DeviceHealth::draining);
  EXPECT_THAT(why(one), HasSubstr("Xid 48: uncorrectable memory error"));
}

// G3
TEST_F(CensusTest, what_a_program_did_wrong_is_told_and_not_held_against_the_device) {
  survey_of({one});
  for (const std::uint32_t code : {13u, 31u, 43u, 45u}) {
    EXPECT_FALSE(census_.happened(event(one, code))) << code;
  }
  EXPECT_EQ(health(one), DeviceHealth::healthy);
  EXPECT_THAT(census_.take_news(),
              ElementsAre(HasSubstr("Xid 13"), HasSubstr("(its program's fault)"),
                          HasSubstr("Xid 43"), HasSubstr("Xid 45")));
  EXPECT_THAT(census_.take_news(), IsEmpty());
}

TEST_F(CensusTest, the_worst_counts_and_everything_is_said) {
  survey_of({one});
  EXPECT_TRUE(census_.happened(event(one, 63)));
  EXPECT_EQ(health(one), DeviceHealth::degraded);
  EXPECT_TRUE(census_.happened(event(one, 79)));
  EXPECT_TRUE(census_.happened(event(one, 48)));
  EXPECT_EQ(health(one), DeviceHealth::failed);
  EXPECT_EQ(why(one),
            one +
                " is failed: Xid 79: fell off the bus; Xid 48: uncorrectable memory "
                "error; Xid 63: a memory row was remapped, takes effect at the next reset");
}

// G2: what the counters say, with or without an event.
TEST_F(CensusTest, counters_speak_for_themselves) {
  auto sick = reading(one);
  sick.set_remap_pending(true);
  survey({sick});
  EXPECT_EQ(health(one), DeviceHealth::degraded);
  sick.set_remap_failed(true);
  survey({sick});
  EXPECT_EQ(health(one), DeviceHealth::draining);
  auto errors = reading(one);
  errors.set_ecc_uncorrected(1);
  survey({errors});
  EXPECT_EQ(health(one), DeviceHealth::degraded);
  errors.set_ecc_uncorrected(0);
  survey({errors});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

// G4
TEST_F(CensusTest, a_silent_device_is_not_handed_out_until_it_answers) {
  survey_of({one, two});
  v1::NvmlCall call;
  call.set_function("nvmlDeviceGetUtilizationRates");
  call.set_position(0);
  call.set_uuid(one);
  census_.begin(now_);
  census_.silent(call, "nvmlDeviceGetUtilizationRates does not return");
  census_.found(reading(two));
  census_.complete();
  EXPECT_EQ(health(one), DeviceHealth::draining);
  EXPECT_EQ(why(one), one + " is draining: nvmlDeviceGetUtilizationRates does not return");
  EXPECT_EQ(health(two), DeviceHealth::healthy);
  survey_of({one, two});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

TEST_F(CensusTest, a_device_that_is_silent_before_it_says_its_name_is_found_by_who_is_missing) {
  survey_of({one, two});
  v1::NvmlCall call;
  call.set_function("nvmlDeviceGetHandleByIndex_v2");
  call.set_position(0);
  census_.begin(now_);
  census_.silent(call, "it does not return");
  census_.found(reading(two));
  census_.complete();
  EXPECT_EQ(health(one), DeviceHealth::draining);
  EXPECT_EQ(health(two), DeviceHealth::healthy);
}

TEST_F(CensusTest, nobody_is_vouched_for_while_nothing_can_be_read) {
  survey_of({one, two});
  survey_of({one});
  census_.fail("nvmlInit_v2: Driver/library version mismatch (18)");
  EXPECT_EQ(health(one), DeviceHealth::draining);
  EXPECT_EQ(health(two), DeviceHealth::failed) << "it was lost before, and is";
  EXPECT_EQ(census_.warnings().front(),
            "GPUs cannot be read: nvmlInit_v2: Driver/library version mismatch (18)");
  survey_of({one, two});
  EXPECT_THAT(census_.warnings(), IsEmpty());
}

// G6
TEST_F(CensusTest, a_device_is_slow_when_it_was_for_a_while_and_fast_again_after_a_longer_one) {
  auto hot = reading(one);
  hot.set_throttle_bits(0x40);
  auto cool = reading(one);
  cool.set_throttle_bits(0x4);  // the power cap at work, which is nothing to worry about
  for (int i = 0; i < 2; ++i) survey({hot});
  survey({cool});
  for (int i = 0; i < 2; ++i) survey({hot});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
  survey({hot});
  EXPECT_EQ(health(one), DeviceHealth::degraded);
  for (int i = 0; i < 5; ++i) survey({cool});
  EXPECT_EQ(health(one), DeviceHealth::degraded);
  survey({cool});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

TEST_F(CensusTest, a_device_with_mig_is_listed_and_not_handed_out) {
  auto sliced = reading(one);
  sliced.set_mig_enabled(true);
  survey({sliced});
  EXPECT_EQ(health(one), DeviceHealth::draining);
  EXPECT_THAT(why(one), HasSubstr("MIG is on"));
}

TEST_F(CensusTest, two_devices_of_one_uuid_are_none_that_can_be_named) {
  survey_of({one, two, one});
  EXPECT_EQ(health(one), DeviceHealth::failed);
  EXPECT_EQ(health(two), DeviceHealth::healthy);
  survey_of({one, two});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

// B-I6
TEST_F(CensusTest, what_is_not_told_is_not_zero) {
  survey_of({one});
  auto shy = reading(one);
  shy.clear_memory_total_bytes();
  shy.clear_processes_read();
  survey({shy});
  EXPECT_EQ(census_.devices().front().memory, Bytes{h100_bytes}) << "it was told before";
  EXPECT_FALSE(census_.report().devices(0).device().has_temperature_c());
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

// G9, B-E12
TEST_F(CensusTest, a_device_that_somebody_else_holds_is_dirty_until_they_let_go) {
  auto used = reading(one);
  used.add_processes()->set_pid(4711);
  survey({used});
  survey({used});
  EXPECT_EQ(health(one), DeviceHealth::healthy) << "nobody has said who may hold it";
  census_.hold({DeviceId{one}}, now_);
  survey({used});
  survey({used});
  EXPECT_EQ(health(one), DeviceHealth::healthy) << "our own task holds it";
  census_.hold({}, now_);
  survey({used});
  EXPECT_EQ(health(one), DeviceHealth::healthy) << "the driver may lag a little";
  survey({used});
  EXPECT_EQ(health(one), DeviceHealth::dirty);
  EXPECT_THAT(why(one), HasSubstr("process 4711 computes on it, though no task"));
  survey_of({one});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

// G9: the process is gone, its memory is not.
TEST_F(CensusTest, memory_that_stays_held_after_a_task_makes_a_device_dirty) {
  auto idle = reading(one);
  idle.set_memory_used_bytes(600 << 20);
  survey({idle});
  census_.hold({}, now_);
  survey({idle});
  census_.hold({DeviceId{one}}, now_);
  auto leaking = reading(one);
  leaking.set_memory_used_bytes(std::int64_t{100} << 30);
  survey({leaking});
  census_.hold({}, now_);
  survey({leaking});
  survey({leaking});
  EXPECT_EQ(health(one), DeviceHealth::dirty);
  EXPECT_THAT(why(one), HasSubstr("some of its memory is held"));
  survey({idle});
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

TEST_F(CensusTest, a_survey_that_began_before_a_task_let_go_says_nothing_of_others) {
  auto used = reading(one);
  used.add_processes()->set_pid(4711);
  survey({used});
  census_.hold({DeviceId{one}}, now_);
  census_.begin(now_);
  census_.hold({}, now_ + milliseconds(1));
  for (int i = 0; i < 3; ++i) census_.found(used), census_.complete(), census_.begin(now_);
  EXPECT_EQ(health(one), DeviceHealth::healthy);
}

}  // namespace
}  // namespace keel::nvml
