#include "apps/keeld/options.h"

#include <cstdio>

#include "apps/command_line.h"
#include "model/limits.h"

namespace keel {
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
  app.add_flag("--restored", options.restored,
               "to be run once after DATA was put back from an older copy, before keeld is started "
               "on it: marks that, says so, and ends");
  Policy& policy = options.policy;
  const auto add_policy = [&](const char* name, Duration& value, const char* what) {
    add_duration(app, name, value, milliseconds(1), limits::time_limit_max, what);
  };
  add_policy("--claim-for", policy.claim_for,
             "a reservation that is not prepared within this is void");
  add_policy("--heartbeat", policy.heartbeat, "how often agents report");
  add_policy("--silence", policy.silence, "a node not heard for this long is unreachable");
  add_policy("--disconnect-stop", policy.disconnect_stop,
             "a task whose node hears nothing for this long is stopped there");
  add_whole(app, "--keep-events", options.retention.events, 1, INT64_MAX,
            "how many of the newest events are kept once their jobs are over");
  if (const auto code = read_command_line(app, argc, argv)) return *code;
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
