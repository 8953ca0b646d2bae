#include "adapters/emulated/devices.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "wire/spec.h"

namespace keel {
namespace {

constexpr int devices_max = 1024;

std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return count;
}

// "GPU-01234567-89ab-cdef-0123-456789abcdef", from the digest of node and number.
std::string make_uuid(const std::string& node, int number) {
  const std::string hex = print(sha256("emulated " + node + " " + std::to_string(number)));
  return "GPU-" + hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20, 12);
}

}  // namespace

Result<EmulatedDevices, std::string> EmulatedDevices::parse(std::string_view description,
                                                            const std::string& node) {
  const std::string wrong = "'" + std::string(description) + "' is no description of devices";
  const std::size_t times = description.find('x');
  const std::size_t dash = description.rfind('-');
  if (times == description.npos || dash == description.npos || dash < times) {
    return wrong + "; it should look like 8xH100-80GB";
  }
  const auto count = parse_count(description.substr(0, times));
  if (!count || *count < 1 || *count > devices_max) {
    return wrong + ": the number of devices may be 1 to " + std::to_string(devices_max);
  }
  std::string_view size = description.substr(dash + 1);
  if (!size.ends_with("GB")) return wrong + ": the memory should look like 80GB";
  size.remove_suffix(2);
  const auto gigabytes = parse_count(size);
  if (!gigabytes || *gigabytes < 1 || *gigabytes > 10'000) {
    return wrong + ": the memory may be 1GB to 10000GB";
  }
  std::string model(description.substr(times + 1));
  for (char& c : model) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (!fine) return wrong + ": a model has letters, digits and dashes";
  }
  std::vector<Device> devices;
  for (int i = 0; i < *count; ++i) {
    devices.push_back({.id = {make_uuid(node, i)},
                       .model = model,
                       .memory = {std::int64_t{*gigabytes} * 1'000'000'000},
                       .emulated = true});
  }
  std::ranges::sort(devices, {}, &Device::id);
  return EmulatedDevices(std::move(devices));
}

}  // namespace keel
