#include "apps/keeld/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "model/limits.h"
#include "wire/quantity.h"

namespace keel {
namespace {

void add_duration(CLI::App& app, const std::string& name, Duration& value,
                  const std::string& what) {
  app.add_option_function<std::string>(
         name,
         [&value, name](const std::string& text) {
           const auto duration = parse_duration(text);
           if (!duration || *duration <= Duration{}) {
             throw CLI::ValidationError(name, "'" + text + "' is no duration, such as 90s or 30m");
           }
           if (*duration > limits::time_limit_max) {
             throw CLI::ValidationError(
                 name, "'" + text + "' is more than " + print(limits::time_limit_max));
           }
           value = *duration;
         },
         what + " (default " + print(value) + ")")
      ->type_name("DURATION");
}

}  // namespace

Result<KeeldOptions, int> parse_keeld_options(int argc, char** argv) {
  KeeldOptions options;
  CLI::App app{"The control plane of Evenkeel: takes jobs, decides where and when they run."};
  app.name("keeld");
  app.add_option("--data", options.data, "directory of its store, files and operator token")
      ->required();
  app.add_option("--socket", options.socket,
                 "the local door: a Unix socket (default DATA/keeld.sock)");
  app.add_option("--http", options.http,
                 "also serve at this loopback address, for those who have the operator token: "
                 "127.0.0.1:PORT or [::1]:PORT; port 0 chooses one");
  app.add_option("--address-file", options.address_file, "write the chosen address into this file");
  app.add_option("--token-user", options.token_user,
                 "the user as whom jobs run that are submitted with the operator token");
  Policy& policy = options.policy;
  add_duration(app, "--claim-for", policy.claim_for,
               "a reservation that is not prepared within this is void");
  add_duration(app, "--heartbeat", policy.heartbeat, "how often agents report");
  add_duration(app, "--silence", policy.silence, "a node not heard for this long is unreachable");
  add_duration(app, "--disconnect-stop", policy.disconnect_stop,
               "a task whose node hears nothing for this long is stopped there");
  app.add_option("--keep-events", options.retention.events,
                 "how many of the newest events are kept once their jobs are over (default " +
                     std::to_string(options.retention.events) + ")")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{INT64_MAX}))
      ->type_name("N");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  // A node would be unreachable between any two of its reports.
  if (policy.silence < policy.heartbeat + policy.heartbeat) {
    std::fprintf(stderr, "--silence: '%s' should be twice --heartbeat ('%s') at least\n",
                 print(policy.silence).c_str(), print(policy.heartbeat).c_str());
    return 2;
  }
  if (options.socket.empty()) options.socket = options.data + "/keeld.sock";
  return options;
}

}  // namespace keel
