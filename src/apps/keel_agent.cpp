// keel-agent: joins the parts of one host's agent and lets them run.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "adapters/clock/clock.h"
#include "adapters/link/link.h"
#include "adapters/preparer/preparer.h"
#include "adapters/processes/agent_id.h"
#include "adapters/processes/identity.h"
#include "adapters/processes/local_claims.h"
#include "adapters/processes/local_runtime.h"
#include "agent/runner.h"
#include "apps/agent/gpus.h"
#include "apps/agent/options.h"
#include "apps/agent/present.h"
#include "model/limits.h"

namespace {

using namespace keel;

constexpr Duration look_at_least_every = seconds(1);

void say(const std::string& text) { std::fprintf(stderr, "keel-agent: %s\n", text.c_str()); }

// Says each trouble once, however long it lasts.
class Trouble {
 public:
  void tell(const std::string& now, const std::string& what) {
    if (now != said_ && !now.empty()) say(what + now);
    said_ = now;
  }

 private:
  std::string said_;
};

template <class T>
T or_exit(Result<T, std::string> result) {
  if (result) return *std::move(result);
  say(result.error());
  std::exit(1);
}

// One agent per state directory, for as long as this process lives.
void hold_state(const std::string& state) {
  ::mkdir(state.c_str(), 0711);
  const std::string path = state + "/lock";
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    say(state + (lock < 0 ? " cannot be written" : " is in use by another agent"));
    std::exit(1);
  }
}

// Each live task takes one or two.
void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // Else it stays as it is.
}

std::string read_token(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token)) {
    say(path + " cannot be read, or is empty");
    std::exit(1);
  }
  return token;
}

// What does not change while this agent lives.
NodeInventory inventory_of(const AgentOptions& options) {
  return {.id = {options.name},
          .agent_id = or_exit(agent_id(options.state)).digits,
          .boot_id = boot_id(),
          .address = options.address,
          .cpu = {::sysconf(_SC_NPROCESSORS_ONLN) * 1000},
          .memory = {::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)}};
}

std::set<DeviceId> held_by_tasks(const AgentCore& core) {
  std::set<DeviceId> held;
  for (const auto& [key, claim] : core.claims()) {
    if (is_live(claim)) held.insert(claim.order.devices.begin(), claim.order.devices.end());
  }
  return held;
}

// Brings a file from the control plane into the host's cache.
Result<Done, std::string> fetch(ServerLink& link, const FileCache& files, const Digest& digest) {
  if (files.has(digest)) return Done{};
  std::string bytes;
  const auto fetched = link.fetch(digest, [&](std::string_view piece) -> Result<Done, std::string> {
    if (bytes.size() + piece.size() > limits::file_bytes_max) return std::string("it is too large");
    bytes += piece;
    return Done{};
  });
  if (!fetched) return fetched.error();
  return files.put(digest, bytes);
}

int signals_descriptor() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Sleeps until something is to be done. False: a signal asks the agent to end.
bool sleep_until(Instant wake, Clock& clock, const std::array<int, 5>& descriptors) {
  std::array<pollfd, 5> wait{};
  for (std::size_t i = 0; i < wait.size(); ++i) {
    wait[i] = {.fd = descriptors[i], .events = POLLIN, .revents = 0};
  }
  const Instant now = clock.now();
  const Duration longest = std::min(std::max(wake, now) - now, look_at_least_every);
  ::poll(wait.data(), wait.size(), static_cast<int>((longest.us + 999) / 1000));
  return (wait[0].revents & POLLIN) == 0;
}

int run(const AgentOptions& options) {
  const int signals = signals_descriptor();
  if (::access(options.shim.c_str(), X_OK) != 0) {
    say("--shim: " + options.shim + ": " + std::strerror(errno));
    return 1;
  }
  BootClock clock;
  const auto gpus = or_exit(Gpus::open(options, clock));
  raise_descriptor_limit();
  hold_state(options.state);
  const auto runtime = or_exit(LocalRuntime::open({.state = options.state,
                                                   .shim = options.shim,
                                                   .cgroup_base = "keel/" + options.name,
                                                   .logs_kept = {.tasks_max = options.logs_kept,
                                                                 .bytes_max = options.logs_bytes,
                                                                 .span = options.logs_for}}));
  LocalClaims claims = or_exit(LocalClaims::open(options.state, {options.name}));
  const auto link = or_exit(
      ServerLink::open({.target = options.server, .token = read_token(options.token_file)}));
  const int prepared = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Preparer preparer(
      {.fetch = [&](const Digest& digest) { return fetch(*link, runtime->files(), digest); },
       .give_up = [&] { link->give_up_fetching(); },
       .runtime = *runtime,
       .wake = [prepared] { ::eventfd_write(prepared, 1); }});
  gpus->await_first();
  Present present(inventory_of(options), options.state, options.disk_wanted, *gpus, *runtime);
  NodeInventory inventory = present.look();
  say("node " + options.name + ", " + std::to_string(inventory.devices.size()) + " devices (" +
      options.devices + ")");
  Runner runner = or_exit(Runner::open(std::move(inventory), {.clock = clock,
                                                              .server = *link,
                                                              .runtime = *runtime,
                                                              .claims = claims,
                                                              .preparations = preparer}));
  for (const std::string& warning : present.take_news()) say("warning: " + warning);
  for (const std::string& claim : claims.damaged()) say("moved aside: " + claim);

  Trouble far, near;
  const std::array<int, 5> descriptors = {signals, link->wake_descriptor(), runtime->wake_fd(),
                                          prepared, gpus->wake_descriptor()};
  while (sleep_until(runner.next_wake(), clock, descriptors)) {
    eventfd_t count = 0;
    ::eventfd_read(prepared, &count);
    gpus->hold(held_by_tasks(runner.core()));
    for (const std::string& line : gpus->take_news().value_or(std::vector<std::string>{})) {
      say(line);
    }
    runner.step();
    runner.inventory_changed(present.look());
    for (const std::string& warning : present.take_news()) say("warning: " + warning);
    far.tell(link->trouble(), "no connection to " + options.server + ": ");
    near.tell(runner.trouble(), "");
  }
  say("ending; tasks go on without this agent");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_agent_options(argc, argv);
  if (!options) return options.error();
  return run(*options);
}
