// NVIDIA's Xid codes and what each means for the device: data in xid.catalogue, whose head explains
// its form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace keel::nvml {

enum class XidClass : std::uint8_t {
  application,  // the program's fault: no reason to think ill of the device
  note,
  degraded,
  draining,
  failed,
};

struct Xid {
  XidClass severity{};
  std::string meaning{};
  friend bool operator==(const Xid&, const Xid&) = default;
};

class XidCatalogue {
 public:
  // An error names the line and what is allowed there.
  static Result<XidCatalogue, std::string> parse(std::string_view text);

  // architecture  NVML's number; 0 where it is not known: then the oldest line counts
  // A code that is not listed is a note: no program can take devices away with it.
  Xid find(std::uint32_t code, std::uint32_t architecture) const;

  std::size_t size() const { return lines_.size(); }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, Xid> lines_;  // by code and oldest generation
};

// The text of xid.catalogue as it was when this program was built.
std::string_view built_in_xid_catalogue();

}  // namespace keel::nvml
