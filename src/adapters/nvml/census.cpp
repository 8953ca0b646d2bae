#include "adapters/nvml/census.h"

#include <algorithm>
#include <utility>

#include "adapters/nvml/abi.h"
#include "adapters/nvml/model_name.h"

namespace keel::nvml {
namespace {

// A moment of slowness is no news; neither is a moment without.
constexpr int throttled_surveys = 3;
constexpr int unthrottled_surveys = 6;

// A task's processes are gone before its devices are free, but the driver may lag a little.
constexpr int occupied_surveys = 2;

// More than what the driver itself takes and gives back while nobody computes.
constexpr std::int64_t idle_memory_slack = std::int64_t{512} << 20;

constexpr std::uint64_t slow_bits =
    hardware_slowdown | software_thermal | hardware_thermal | power_brake;

int severity(DeviceHealth health) {
  switch (health) {
    case DeviceHealth::healthy: return 0;
    case DeviceHealth::degraded: return 1;
    case DeviceHealth::dirty: return 2;
    case DeviceHealth::draining: return 3;
    case DeviceHealth::failed: return 4;
  }
  return 4;
}

std::optional<DeviceHealth> health_after(XidClass severity) {
  switch (severity) {
    case XidClass::application:
    case XidClass::note: return std::nullopt;
    case XidClass::degraded: return DeviceHealth::degraded;
    case XidClass::draining: return DeviceHealth::draining;
    case XidClass::failed: return DeviceHealth::failed;
  }
  return std::nullopt;
}

}  // namespace

Census::Known& Census::known(const std::string& uuid) {
  Known& device = devices_[uuid];
  if (device.last.uuid().empty()) device.last.set_uuid(uuid);
  return device;
}

void Census::begin(Instant now) {
  began_ = now;
  silence_.clear();
  unread_.clear();
  for (auto& [uuid, device] : devices_) device.seen = 0;
}

void Census::found(const v1::NvmlDevice& reading) {
  Known& device = known(reading.uuid());
  if (++device.seen > 1) return;
  // It can only be back after a reset, or another start of the driver.
  if (device.presence == Presence::lost) device.xids.clear();
  device.presence = Presence::present;
  // What is what it is stays known when it cannot be read for once.
  const auto before = device.last;
  device.last = reading;
  if (!reading.has_memory_total_bytes() && before.has_memory_total_bytes()) {
    device.last.set_memory_total_bytes(before.memory_total_bytes());
  }
  judge_speed(device);
  judge_holders(device);
}

void Census::judge_speed(Known& device) {
  if (!device.last.has_throttle_bits()) return;
  const bool throttled = (device.last.throttle_bits() & slow_bits) != 0;
  device.throttled = throttled ? device.throttled + 1 : 0;
  device.unthrottled = throttled ? 0 : device.unthrottled + 1;
  if (device.throttled >= throttled_surveys) device.slow = true;
  if (device.unthrottled >= unthrottled_surveys) device.slow = false;
}

// Only what was read after our own tasks had let go tells of others.
void Census::judge_holders(Known& device) {
  if (!device.free_since || began_ <= *device.free_since) return;
  const v1::NvmlDevice& now = device.last;
  std::string occupant;
  if (now.processes_size() > 0) {
    occupant = "process " + std::to_string(now.processes(0).pid()) + " computes on it";
  } else if (now.has_memory_used_bytes()) {
    const std::int64_t used = now.memory_used_bytes();
    device.idle_used = std::min(device.idle_used.value_or(used), used);
    if (used > *device.idle_used + idle_memory_slack) occupant = "some of its memory is held";
  }
  device.occupied = occupant.empty() ? 0 : device.occupied + 1;
  device.occupant = occupant + ", though no task of this node holds it";
}

void Census::unreadable(const v1::NvmlUnreadable& told) {
  const std::string why = told.function() + ": " + told.text();
  if (told.uuid().empty()) {
    unread_ = why;
    return;
  }
  Known& device = known(told.uuid());
  ++device.seen;
  away(device, why);
}

void Census::away(Known& device, const std::string& why) {
  device.presence = Presence::lost;
  device.why = why;
}

void Census::silent(const v1::NvmlCall& call, const std::string& why) {
  if (call.uuid().empty()) {
    silence_ = why;
    return;
  }
  Known& device = known(call.uuid());
  ++device.seen;
  device.presence = Presence::silent;
  device.why = why;
}

void Census::complete() {
  known_ = true;
  trouble_.clear();
  for (auto& [uuid, device] : devices_) {
    device.twice = device.seen > 1;
    if (device.seen > 0) continue;
    if (!silence_.empty()) {
      device.presence = Presence::silent;
      device.why = silence_;
    } else {
      away(device, unread_.empty() ? "NVML does not list it any more" : unread_);
    }
  }
}

void Census::fail(const std::string& why) {
  known_ = true;
  trouble_ = why;
  for (auto& [uuid, device] : devices_) {
    if (device.presence == Presence::lost) continue;
    device.presence = Presence::silent;
    device.why = why;
  }
}

bool Census::happened(const v1::NvmlEvent& event) {
  const auto found = devices_.find(event.uuid());
  const std::uint32_t architecture =
      found == devices_.end() ? 0 : found->second.last.architecture();
  // An uncorrectable ECC error is told as such where its Xid is not.
  const std::uint32_t code = event.has_xid() ? event.xid() : 48;
  const Xid xid = catalogue_.find(code, architecture);
  const std::string words = "Xid " + std::to_string(code) + ": " + xid.meaning;
  const bool by_program = xid.severity == XidClass::application;
  news_.push_back(event.uuid() + ": " + words + (by_program ? " (its program's fault)" : ""));
  const auto health = health_after(xid.severity);
  if (!health) return false;
  if (found == devices_.end()) return true;
  found->second.xids[code] = {*health, words};
  return true;
}

void Census::hold(const std::set<DeviceId>& held, Instant now) {
  for (auto& [uuid, device] : devices_) {
    if (held.contains(DeviceId{uuid})) {
      device.free_since.reset();
      device.occupied = 0;
    } else if (!device.free_since) {
      device.free_since = now;
    }
  }
}

std::vector<Census::Ill> Census::ills(const Known& device) const {
  std::vector<Ill> ills;
  const v1::NvmlDevice& now = device.last;
  if (device.presence == Presence::lost) ills.push_back({DeviceHealth::failed, device.why});
  if (device.presence == Presence::silent) ills.push_back({DeviceHealth::draining, device.why});
  if (device.twice) ills.push_back({DeviceHealth::failed, "NVML lists two devices of this uuid"});
  for (const auto& [code, ill] : device.xids) ills.push_back(ill);
  if (now.mig_enabled()) {
    ills.push_back({DeviceHealth::draining, "MIG is on, and its instances are not handed out"});
  }
  if (now.remap_failed()) {
    ills.push_back({DeviceHealth::draining, "a memory row could not be remapped"});
  }
  if (device.occupied >= occupied_surveys) ills.push_back({DeviceHealth::dirty, device.occupant});
  if (now.remap_pending() || now.retirement_pending()) {
    ills.push_back({DeviceHealth::degraded, "bad memory is taken out of use at the next reset"});
  }
  if (now.ecc_uncorrected() > 0) {
    ills.push_back(
        {DeviceHealth::degraded, "uncorrectable memory errors since the driver started"});
  }
  if (device.slow) ills.push_back({DeviceHealth::degraded, "slowed down by heat or power"});
  std::ranges::stable_sort(ills, std::greater{},
                           [](const Ill& ill) { return severity(ill.health); });
  return ills;
}

DeviceHealth Census::health_of(const std::vector<Ill>& ills) {
  return ills.empty() ? DeviceHealth::healthy : ills.front().health;
}

std::string Census::why_of(const std::vector<Ill>& ills) {
  std::string text;
  for (const Ill& ill : ills) text += (text.empty() ? "" : "; ") + ill.why;
  return text;
}

std::vector<Device> Census::devices() const {
  std::vector<Device> list;
  for (const auto& [uuid, device] : devices_) {
    list.push_back({.id = {uuid},
                    .model = model_name(device.last.name()),
                    .memory = {device.last.memory_total_bytes()},
                    .health = health_of(ills(device))});
  }
  std::ranges::sort(list, {}, &Device::id);
  return list;
}

std::vector<std::string> Census::warnings() const {
  std::vector<std::string> list;
  if (!trouble_.empty()) list.push_back("GPUs cannot be read: " + trouble_);
  for (const auto& [uuid, device] : devices_) {
    const auto found = ills(device);
    if (found.empty()) continue;
    list.push_back(uuid + " is " + std::string(print(health_of(found))) + ": " + why_of(found));
  }
  return list;
}

v1::NvmlReport Census::report() const {
  v1::NvmlReport report;
  *report.mutable_driver() = driver_;
  for (const auto& [uuid, device] : devices_) {
    const auto found = ills(device);
    v1::NvmlSeen& seen = *report.add_devices();
    seen.set_health(std::string(print(health_of(found))));
    seen.set_why(why_of(found));
    seen.set_model(model_name(device.last.name()));
    *seen.mutable_device() = device.last;
  }
  for (const std::string& warning : warnings()) report.add_warnings(warning);
  return report;
}

std::set<std::string> Census::readable() const {
  std::set<std::string> uuids;
  for (const auto& [uuid, device] : devices_) {
    if (device.presence == Presence::present) uuids.insert(uuid);
  }
  return uuids;
}

std::vector<std::string> Census::take_news() { return std::exchange(news_, {}); }

}  // namespace keel::nvml
