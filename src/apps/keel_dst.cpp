// keel-dst: plays simulated worlds, one for each seed, and looks for a promise that does not hold.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "sim/checkers/violation.h"
#include "sim/world.h"

namespace {

using namespace keel;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 100;
  std::optional<std::uint64_t> one;
  bool trace{};
  bool json{};
};

struct Sums {
  std::uint64_t seeds{};
  std::uint64_t violations{};
  Duration simulated{};
  std::array<std::uint64_t, sim::fault_count> faults{};
  std::map<std::string, std::uint64_t> transitions;
};

// The digest of what happened; nothing where a promise was broken.
std::optional<std::uint64_t> play(std::uint64_t seed, bool trace, Sums& sums) {
  sim::World world(seed, trace ? &std::cout : nullptr);
  std::optional<std::uint64_t> digest;
  try {
    world.run();
    digest = world.trace.digest();
  } catch (const sim::Violation& violation) {
    ++sums.violations;
    std::cout << "seed " << seed << ": " << violation.what() << "\n";
  }
  ++sums.seeds;
  sums.simulated = sums.simulated + (world.agenda.now() - Instant{});
  for (std::size_t i = 0; i < sim::fault_count; ++i) sums.faults[i] += world.faults.counts()[i];
  for (const auto& [edge, count] : world.checkers.jobs.transitions()) {
    sums.transitions[edge] += count;
  }
  return digest;
}

void print_json(const Sums& sums, double seconds_taken) {
  const double hours_simulated = static_cast<double>(sums.simulated.us) / 3.6e9;
  std::cout << "{\"seeds\": " << sums.seeds << ", \"violations\": " << sums.violations
            << ", \"simulated_hours\": " << hours_simulated
            << ", \"speed\": " << hours_simulated * 3600 / seconds_taken << ", \"faults\": {";
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    std::cout << (i == 0 ? "" : ", ") << "\"" << sim::name_of(static_cast<sim::Fault>(i))
              << "\": " << sums.faults[i];
  }
  std::cout << "}, \"transitions\": {";
  const char* comma = "";
  for (const auto& [edge, count] : sums.transitions) {
    std::cout << comma << "\"" << edge << "\": " << count;
    comma = ", ";
  }
  std::cout << "}}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::string range = "1..100";
  CLI::App app("Plays simulated worlds and looks for a promise that does not hold.");
  app.add_option("--seeds", range, "which worlds: FIRST..LAST");
  app.add_option("--seed", options.one, "one world");
  app.add_flag("--trace", options.trace, "say what happens");
  app.add_flag("--json", options.json, "end with one JSON object of all figures");
  CLI11_PARSE(app, argc, argv);
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos) {
    std::cerr << "keel-dst: --seeds takes FIRST..LAST\n";
    return 2;
  }
  options.first = options.one.value_or(std::stoull(range.substr(0, dots)));
  options.last = options.one.value_or(std::stoull(range.substr(dots + 2)));
  Sums sums;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    const auto digest = play(seed, options.trace, sums);
    if (!digest || seed % 10 != 0) continue;
    Sums again;
    if (play(seed, false, again) != digest) {
      ++sums.violations;
      std::cout << "seed " << seed << ": I23: a second run is another\n";
    }
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  if (options.json) print_json(sums, taken.count());
  return sums.violations == 0 ? 0 : 1;
}
