#include "apps/agent/gpus.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "adapters/emulated/devices.h"
#include "wire/text.h"

namespace keel {
namespace {

// Longer, and the node would seem to be gone; what comes later is reported then.
constexpr Duration first_look = seconds(10);

}  // namespace

Result<nvml::XidCatalogue, std::string> read_xid_catalogue(const std::string& path) {
  if (path.empty()) return nvml::XidCatalogue::parse(nvml::built_in_xid_catalogue());
  std::string text;
  try {
    std::ifstream file;
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.open(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure&) {
    return "--xid-catalogue: " + printable(path) + " cannot be read";
  }
  auto catalogue = nvml::XidCatalogue::parse(text);
  if (!catalogue) return "--xid-catalogue: " + printable(path) + ", " + catalogue.error();
  return catalogue;
}

Result<std::unique_ptr<Gpus>, std::string> Gpus::open(const AgentOptions& options, Clock& clock) {
  auto gpus = std::make_unique<Gpus>();
  constexpr std::string_view emulated = "emulated:";
  if (options.devices == "none") return gpus;
  if (options.devices.starts_with(emulated)) {
    TRY(devices, EmulatedDevices::parse(options.devices.substr(emulated.size()), options.name));
    gpus->emulated_ = devices.list();
    return gpus;
  }
  if (options.devices != "nvml") {
    return "--devices: '" + options.devices +
           "' should be nvml, none, or look like emulated:8xH100-80GB";
  }
  TRY(catalogue, read_xid_catalogue(options.xid_catalogue));
  nvml::Overseer::Options times{.every = options.nvml_every};
  times.patience.call = options.nvml_deadline;
  times.patience.init = std::max(times.patience.init, options.nvml_deadline);
  gpus->nvml_ = std::make_unique<NvmlDevices>(
      NvmlDevices::Options{
          .program = options.nvml_program, .library = options.nvml_library, .times = times},
      std::move(catalogue), clock);
  return gpus;
}

void Gpus::await_first() {
  if (nvml_) (void)nvml_->await_first(first_look);  // Where it takes longer, a warning says so.
}

std::vector<Device> Gpus::devices() const { return nvml_ ? nvml_->list() : emulated_; }

std::vector<std::string> Gpus::warnings() const {
  return nvml_ ? nvml_->state().warnings : std::vector<std::string>{};
}

std::optional<std::vector<std::string>> Gpus::take_news() {
  return nvml_ ? nvml_->take_news() : std::nullopt;
}

void Gpus::hold(std::set<DeviceId> held) {
  if (nvml_) nvml_->hold(std::move(held));
}

}  // namespace keel
