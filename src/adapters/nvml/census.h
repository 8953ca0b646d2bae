// What is known of each GPU of this host, and what its health follows from. Pure: readings,
// silences and events in; devices and reasons out. A device is known by its uuid alone, for as long
// as the agent lives: one that cannot be seen any more stays listed, and says why.
//
// Worst first, and what ends it:
//   failed    lost or not listed any more; an Xid of that class    it is back in a survey
//   draining  its calls do not return; an Xid; MIG; failed remap   calls return; it was away
//   dirty     held by a process that is none of our tasks'         nobody holds it
//   degraded  an Xid; pending remap; ECC errors; throttled         it was away; it runs freely
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/nvml/xid.h"
#include "keel/v1/nvml.pb.h"
#include "model/node.h"

namespace keel::nvml {

class Census {
 public:
  explicit Census(XidCatalogue catalogue) : catalogue_(std::move(catalogue)) {}

  // A survey of all devices begins, and what it says of each.
  void begin(Instant now);
  void tell(const v1::NvmlDriver& driver) { driver_ = driver; }
  void found(const v1::NvmlDevice& device);
  void unreadable(const v1::NvmlUnreadable& device);

  // This call has not returned, or nothing has returned from it: `why` says which.
  void silent(const v1::NvmlCall& call, const std::string& why);

  // Every position was looked at.
  void complete();

  // Nothing can be read now, for this reason: no device that was known can be vouched for.
  void fail(const std::string& why);

  // An event. True: its device should be looked at now.
  bool happened(const v1::NvmlEvent& event);

  // Which devices our own tasks hold from now on.
  void hold(const std::set<DeviceId>& held, Instant now);

  // Whether anything is known yet, if only that there is nothing.
  bool is_known() const { return known_; }

  // Sorted by id.
  std::vector<Device> devices() const;

  // For people: why there is no device, and what is the matter with each that is not healthy.
  std::vector<std::string> warnings() const;

  // All readings, and what was made of them.
  v1::NvmlReport report() const;

  // The uuids that could be read in the last survey.
  std::set<std::string> readable() const;

  // What happened since the last call, for the log: one line each.
  std::vector<std::string> take_news();

 private:
  enum class Presence : std::uint8_t { present, silent, lost };

  struct Ill {
    DeviceHealth health{};
    std::string why{};
  };

  struct Known {
    v1::NvmlDevice last{};  // the last reading
    Presence presence{};
    std::string why{};                      // it is not present
    int seen{};                             // how often, in the survey that is under way
    bool twice{};                           // two devices have its uuid
    std::map<std::uint32_t, Ill> xids{};    // since it was away
    int throttled{}, unthrottled{};         // surveys in a row
    bool slow{};                            // until it was not throttled for long enough
    std::optional<Instant> free_since{};    // none of our tasks holds it
    std::optional<std::int64_t> idle_used;  // bytes: the least while nobody held it
    int occupied{};                         // surveys in a row, though none of our tasks holds it
    std::string occupant{};
  };

  Known& known(const std::string& uuid);
  void judge_speed(Known& device);
  void judge_holders(Known& device);
  std::vector<Ill> ills(const Known& device) const;
  static DeviceHealth health_of(const std::vector<Ill>& ills);
  static std::string why_of(const std::vector<Ill>& ills);
  void away(Known& device, const std::string& why);

  XidCatalogue catalogue_;
  v1::NvmlDriver driver_{};
  std::map<std::string, Known> devices_{};  // by uuid
  Instant began_{};
  std::string silence_{};  // in this survey, of a device that was not named
  std::string unread_{};   // likewise: why a position could not be read
  std::string trouble_{};  // nothing can be read
  bool known_{};
  std::vector<std::string> news_{};
};

}  // namespace keel::nvml
