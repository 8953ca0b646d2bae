// keel-bench launch: trivial jobs, one after another, on a platform of its own in a temporary
// directory. How long from the submission until the program is known to run, beside a plain fork
// and exec; and what is left afterwards.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "apps/command_line.h"
#include "bench/bench.h"
#include "tests/e2e/caretaker.h"
#include "tests/e2e/http.h"
#include "tests/e2e/leftovers.h"
#include "tests/e2e/program.h"

namespace keel::bench {
namespace {

using namespace keel::e2e;
using Clock = std::chrono::steady_clock;
namespace files = std::filesystem;

constexpr int logs_kept = 10;  // declared, so no leftover
constexpr int warm_up = 10;
constexpr auto patience = std::chrono::seconds(30);
const char* const trivial = "/bin/true";

struct Options {
  std::uint64_t launches = 1000;
  bool json{};
};

[[noreturn]] void give_up(const std::string& why) { throw std::runtime_error(why); }

template <class Condition>
bool comes(Condition holds) {
  const auto deadline = Clock::now() + patience;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    ::usleep(20'000);
  }
  return true;
}

double ms_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
}

std::string beside_us(const std::string& name) {
  return files::read_symlink("/proc/self/exe").parent_path() / name;
}

// Counts that must be after the launches what they were before.
struct Standing {
  std::size_t processes{}, cgroups{}, mounts{}, keeld_descriptors{}, agent_descriptors{}, files{};
};

class Platform {
 public:
  Platform() {
    place_.directory = "/tmp/keel-bench-XXXXXX";
    if (::mkdtemp(place_.directory.data()) == nullptr) give_up("no directory in /tmp");
    ::chmod(place_.directory.c_str(), 0711);  // tasks of others pass through it
    place_.node = "bench-" + place_.directory.substr(place_.directory.rfind('-') + 1);
    caretaker_ = std::make_unique<Caretaker>(place_);
    keeld_.start({beside_us("keeld"), "--data", path("data"), "--socket", path("keel.sock")},
                 path("keeld.log"));
    if (!comes([&] { return get("/healthz").has_value(); })) give_up(contents(path("keeld.log")));
    agent_.start(
        {beside_us("keel-agent"), "--server", "unix:" + path("keel.sock"), "--state", path("agent"),
         "--name", place_.node, "--devices", "emulated:1xH100-80GB", "--shim",
         beside_us("keel-shim"), "--logs-kept", std::to_string(logs_kept), "--disk-wanted", "0"},
        path("agent.log"));
    if (!comes([&] { return is_ready(); })) give_up(contents(path("agent.log")));
  }

  // Milliseconds from the submission until the program was known to run. Returns when the job is
  // over.
  double launch() {
    const auto begun = Clock::now();
    const Json spec{{"program", trivial}, {"gang", {{"tasks", 1}, {"gpus_per_task", 1}}}};
    const auto answer = ask(
        socket(), {.method = "POST", .target = "/v1/jobs", .body = Json{{"spec", spec}}.dump()});
    if (!answer || answer->status != 200) give_up(answer ? answer->body : "keeld is gone");
    const std::string job = answer->json()["job"];
    std::string after = "0";
    double running_ms = -1;
    for (;;) {
      const auto page = get("/v1/jobs/" + job + "/events?limit=100&wait_ms=1000&after=" + after);
      if (!page) give_up("keeld is gone");
      for (const Json& event : (*page)["events"]) {
        if (event.contains("started") && running_ms < 0) running_ms = ms_since(begun);
      }
      after = (*page)["next"].dump();
      const std::string state = (*page)["state"];
      if (state == "succeeded" && running_ms >= 0) return running_ms;
      if (state == "failed" || ms_since(begun) > 60'000) give_up("job " + job + " is " + state);
    }
  }

  Standing standing() const {
    const std::size_t data = files_of(path("data")).size();
    const auto kept = files::exists(path("agent/logs"))
                          ? std::distance(files::directory_iterator(path("agent/logs")), {})
                          : 0;
    const auto beyond = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, kept - logs_kept));
    return {.processes = living(place_.directory).size(),
            .cgroups = groups_of(place_.node).size(),
            .mounts = mounts_of(place_.directory),
            .keeld_descriptors = descriptors_of(keeld_.pid()),
            .agent_descriptors = descriptors_of(agent_.pid()),
            .files = files_of(path("agent")).size() + data + beyond};
  }

 private:
  std::string path(const std::string& name) const { return place_.directory + "/" + name; }
  Address socket() const { return {path("keel.sock"), 0}; }
  std::optional<Json> get(const std::string& target) const {
    const auto answer = ask(socket(), {.target = target});
    if (!answer || answer->status != 200) return std::nullopt;
    return answer->json();
  }
  bool is_ready() const {
    const auto page = get("/v1/nodes");
    if (!page || !page->contains("nodes") || (*page)["nodes"].empty()) return false;
    return (*page)["nodes"][0]["node"]["state"] == "ready";
  }

  Place place_;
  std::unique_ptr<Caretaker> caretaker_;
  Program keeld_;
  Program agent_;
};

// Milliseconds until the program was executed: then the kernel closes our pipe's other end.
double fork_and_exec() {
  std::array<int, 2> ends{};
  const auto begun = Clock::now();
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("no pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(trivial, trivial, static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  char nothing{};
  while (::read(ends[0], &nothing, 1) < 0) continue;
  const double ms = ms_since(begun);
  ::close(ends[0]);
  ::waitpid(pid, nullptr, 0);
  return ms;
}

double percentile(std::vector<double> values, std::size_t percent) {
  std::ranges::sort(values);
  const std::size_t rank = (values.size() * percent + 99) / 100;  // nearest rank
  return values[std::max<std::size_t>(rank, 1) - 1];
}

Json spread(const std::vector<double>& ms) {
  const auto rounded = [](double value) { return std::round(value * 100) / 100; };
  return {{"p50", rounded(percentile(ms, 50))}, {"p99", rounded(percentile(ms, 99))}};
}

Json difference(const Standing& before, const Standing& after) {
  const auto more = [](std::size_t then, std::size_t now) {
    return now > then ? static_cast<std::int64_t>(now - then) : 0;
  };
  return {{"processes", more(before.processes, after.processes)},
          {"cgroups", more(before.cgroups, after.cgroups)},
          {"mounts", more(before.mounts, after.mounts)},
          {"keeld_descriptors", more(before.keeld_descriptors, after.keeld_descriptors)},
          {"agent_descriptors", more(before.agent_descriptors, after.agent_descriptors)},
          {"files", more(before.files, after.files)}};
}

bool is_nothing(const Json& left) {
  return std::ranges::all_of(left, [](const Json& count) { return count == 0; });
}

// A job is over for its owner a moment before the last of it is cleared away.
Json left_behind(const Platform& platform, const Standing& before) {
  Json left;
  (void)comes([&] {  // What is still there when patience ends is the answer.
    left = difference(before, platform.standing());
    return is_nothing(left);
  });
  return left;
}

int run(const Options& options) {
  Platform platform;
  for (int i = 0; i < warm_up; ++i) platform.launch();
  ::usleep(500'000);  // what the last of these leaves for a moment is no standing
  const Standing before = platform.standing();
  std::vector<double> running_ms, fork_exec_ms;
  for (std::uint64_t i = 1; i <= options.launches; ++i) {
    running_ms.push_back(platform.launch());
    fork_exec_ms.push_back(fork_and_exec());
    if (i % 100 == 0) std::fprintf(stderr, "%lu of %lu launches\n", i, options.launches);
  }
  const Json left = left_behind(platform, before);
  const Json result{{"launches", options.launches},
                    {"submit_to_running_ms", spread(running_ms)},
                    {"fork_exec_ms", spread(fork_exec_ms)},
                    {"left_behind", left}};
  std::printf("%s\n", options.json ? result.dump().c_str() : result.dump(2).c_str());
  return is_nothing(left) ? 0 : 1;
}

}  // namespace

void add_launch(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* launch = app.add_subcommand(
      "launch", "from submission to a running program, and what launches leave behind");
  add_whole(*launch, "--launches", options->launches, 1, 1'000'000,
            "how many jobs, one after another");
  launch->add_flag("--json", options->json, "the last line is one JSON object");
  launch->callback([options, &chosen] {
    chosen = [options] {
      try {
        return run(*options);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "keel-bench: %s\n", error.what());
        return 1;
      }
    };
  });
}

}  // namespace keel::bench
