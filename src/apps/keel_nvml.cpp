// keel-nvml: shows people what NVML says of this host's GPUs; and, for keel-agent, is the process
// that calls NVML in its place.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "adapters/clock/clock.h"
#include "adapters/nvml/devices.h"
#include "adapters/nvml/serve.h"
#include "apps/command_line.h"
#include "apps/nvml/show.h"
#include "wire/tree.h"

namespace {

using namespace keel;

struct Options {
  std::string library = "libnvidia-ml.so.1";
  Duration deadline = seconds(10);
  bool json{};
  bool serve{};
};

std::string self() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return {path.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

// By the way of the agent: a call that hangs hangs nobody here either.
int show(const Options& options) {
  auto catalogue = nvml::XidCatalogue::parse(nvml::built_in_xid_catalogue());
  if (!catalogue) {
    std::fprintf(stderr, "keel-nvml: the built-in Xid catalogue: %s\n", catalogue.error().c_str());
    return 1;
  }
  BootClock clock;
  nvml::Overseer::Options times;
  times.patience.call = options.deadline;
  NvmlDevices devices({.program = self(), .library = options.library, .times = times},
                      *std::move(catalogue), clock);
  if (!devices.await_first(minutes(5))) {
    std::fputs("keel-nvml: NVML does not answer\n", stderr);
    return 1;
  }
  const v1::NvmlReport report = devices.report();
  const std::string text = options.json ? print_json(report) : show_gpus(report);
  std::fputs(text.c_str(), stdout);
  return report.devices().empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "What NVIDIA's management library says of this host's GPUs, and what Evenkeel makes "
      "of it. Exits with 1 where there is none to be read."};
  app.name("keel-nvml");
  app.add_option("--library", options.library,
                 "the library, a path or a name (default " + options.library + ")");
  add_duration(app, "--deadline", options.deadline, milliseconds(10), hours(1),
               "for one call of the library to return");
  app.add_flag("--json", options.json, "everything that was read, as JSON");
  app.add_flag("--serve", options.serve, "for keel-agent")->group("");
  if (const auto code = read_command_line(app, argc, argv)) return *code;
  return options.serve ? nvml::serve(STDIN_FILENO, options.library) : show(options);
}
