#include "apps/agent/options.h"

#include <unistd.h>

#include <array>

#include "apps/command_line.h"
#include "wire/text.h"

namespace keel {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// What was built or installed with this very program.
std::string beside_us(const char* program) {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return {};
  const std::string self(path.data(), static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1) + program;
}

std::string check_name(const std::string& name) {
  const bool fine = !name.empty() && name.size() <= 64 &&
                    name.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.-_") == std::string::npos &&
                    name.front() != '.';
  return fine ? "" : "'" + name + "' is no node name: 1 to 64 letters, digits, '.', '-' and '_'";
}

}  // namespace

Result<AgentOptions, int> parse_agent_options(int argc, char** argv) {
  AgentOptions options{.name = host_name(),
                       .address = "127.0.0.1",
                       .devices = "nvml",
                       .shim = beside_us("keel-shim"),
                       .nvml_program = beside_us("keel-nvml"),
                       .nvml_library = "libnvidia-ml.so.1",
                       .nvml_every = seconds(10),
                       .nvml_deadline = seconds(10)};
  CLI::App app{"The agent of one GPU host: runs tasks for keeld, which it dials and obeys."};
  app.name("keel-agent");
  app.add_option("--server", options.server, "keeld: unix:PATH, or a loopback HOST:PORT")
      ->required();
  app.add_option("--token-file", options.token_file, "file with the operator token, for HOST:PORT");
  app.add_option("--state", options.state, "directory for its claims and its tasks")->required();
  app.add_option("--name", options.name, "this node's name (default: the host's)")
      ->check(CLI::Validator(check_name, ""));
  app.add_option("--address", options.address,
                 "where tasks on other nodes reach this host (default 127.0.0.1)");
  app.add_option("--devices", options.devices,
                 "nvml: what NVIDIA's library finds (default); none: no GPUs; "
                 "emulated:COUNTxMODEL-MEMORY, such as emulated:8xH100-80GB");
  app.add_option("--shim", options.shim, "the program keel-shim (default: beside this one)");
  app.add_option("--nvml-program", options.nvml_program,
                 "the program keel-nvml, which calls NVML (default: beside this one)");
  app.add_option("--nvml-library", options.nvml_library,
                 "NVIDIA's library, a path or a name (default libnvidia-ml.so.1)");
  add_duration(app, "--nvml-every", options.nvml_every, milliseconds(10), hours(1),
               "between two looks at all GPUs");
  add_duration(app, "--nvml-deadline", options.nvml_deadline, milliseconds(10), hours(1),
               "for one call of NVML to return");
  app.add_option("--xid-catalogue", options.xid_catalogue,
                 "a file of what Xid codes mean (default: the one of this build)");
  add_quantity(app, "--disk-wanted", options.disk_wanted, parse_bytes, "512Mi",
               "with less room on the disk of --state, nothing new begins here (default 512Mi)");
  add_whole(app, "--logs-kept", options.logs_kept, 0, INT64_MAX,
            "logs are kept of so many tasks that are over,");
  add_quantity(app, "--logs-bytes", options.logs_bytes, parse_bytes, "16Gi",
               "of so much in all (default 16Gi),");
  add_quantity(app, "--logs-for", options.logs_for, parse_duration, "7d",
               "and for so long (default 7d)");
  if (const auto code = read_command_line(app, argc, argv)) return *code;
  if (const std::string wrong = check_name(options.name); !wrong.empty()) {
    std::fprintf(stderr, "keel-agent: --name: %s\n", printable(wrong).c_str());
    return 2;
  }
  return options;
}

}  // namespace keel
