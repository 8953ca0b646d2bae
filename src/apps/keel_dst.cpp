// keel-dst: plays simulated worlds, one for each seed, and looks for a promise that does not hold.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>

#include "apps/command_line.h"
#include "apps/dst/planted.h"
#include "apps/dst/play.h"
#include "sim/plants.h"
#include "wire/text.h"

namespace {

using namespace keel;

struct Options {
  dst::Range seeds{1, 100};
  std::optional<std::uint64_t> seed;
  std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::string plant;
  bool list_plants{};
  bool try_plants{};
  bool trace{};
  bool drop_caches{};
  bool json{};
};

// The number after the last one is where a thread stops.
constexpr std::uint64_t seed_max = UINT64_MAX / 2;

// From 1 on; nothing where it is no seed.
std::optional<std::uint64_t> parse_seed(std::string_view text) {
  const auto seed = parse_whole(text);
  return seed && 0 < *seed && *seed <= seed_max ? seed : std::nullopt;
}

// "FIRST..LAST", or nothing where it is not that.
std::optional<dst::Range> parse_seeds(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const auto first = parse_seed(text.substr(0, dots)), last = parse_seed(text.substr(dots + 2));
  return first && last && *first <= *last ? std::optional(dst::Range{*first, *last}) : std::nullopt;
}

template <class Counts>
void print_counts(const char* name, const Counts& counts) {
  std::cout << ", \"" << name << "\": {";
  const char* comma = "";
  for (const auto& [what, count] : counts) {
    std::cout << comma << "\"" << what << "\": " << count;
    comma = ", ";
  }
  std::cout << "}";
}

void print_json(const dst::Sums& sums, double seconds_taken) {
  const double hours_simulated = static_cast<double>(sums.simulated.us) / 3.6e9;
  std::vector<std::pair<std::string_view, std::uint64_t>> faults;
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    faults.emplace_back(sim::name_of(static_cast<sim::Fault>(i)), sums.faults.at(i));
  }
  std::cout << "{\"seeds\": " << sums.seeds << ", \"violations\": " << sums.violations.size()
            << ", \"simulated_hours\": " << hours_simulated
            << ", \"speed\": " << hours_simulated * 3600 / seconds_taken
            << ", \"seconds\": " << seconds_taken;
  print_counts("faults", faults);
  print_counts("transitions", sums.transitions);
  std::cout << "}" << std::endl;
}

// A promise of the code itself, broken, ends the process: say where it was.
void say_seed(int) {
  const std::string text = "keel-dst: in seed " + std::to_string(dst::seed_under_way()) + "\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
}

// In so many worlds each kind of fault strikes. One that does not is no longer part of them.
bool every_fault_strikes(const dst::Sums& sums) {
  constexpr std::uint64_t worlds_enough = 300;
  bool all = true;
  for (std::size_t i = 0; i < sim::fault_count && sums.seeds >= worlds_enough; ++i) {
    if (sums.faults.at(i) > 0) continue;
    std::cout << "the fault " << sim::name_of(static_cast<sim::Fault>(i)) << " never strikes\n";
    all = false;
  }
  return all;
}

int play(const Options& options) {
  const dst::Range& range = options.seeds;
  std::signal(SIGABRT, say_seed);
  const auto began = std::chrono::steady_clock::now();
  dst::Sums sums;
  if (options.trace) {
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed)
      dst::play(seed, {true, options.drop_caches}, sums);
  } else {
    const std::uint64_t all = range.last - range.first + 1;
    const bool person = isatty(STDERR_FILENO) != 0;
    sums = dst::play_all(range, static_cast<unsigned>(options.threads), [&](std::uint64_t done) {
      if (person) std::cerr << "\r" << done << " of " << all << " seeds " << std::flush;
    });
    if (person) std::cerr << "\r\033[K";
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  for (const auto& [seed, what] : sums.violations) {
    std::cout << "seed " << seed << ": " << what << "\n";
  }
  const bool whole = every_fault_strikes(sums);
  if (!options.json && !options.trace) {
    std::cout << sums.seeds << " seeds, " << sums.violations.size() << " violations\n";
  }
  if (options.json) print_json(sums, taken.count());
  return whole && sums.violations.empty() ? 0 : 1;
}

int list_plants() {
  for (const sim::PlantKind& kind : sim::all_plants()) {
    std::cout << std::left << std::setw(32) << kind.name << kind.what << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Plays simulated worlds and looks for a promise that does not hold.");
  app.name("keel-dst");
  add_quantity(app, "--seeds", options.seeds, parse_seeds, "1..100 (from 1 on)",
               "which worlds: FIRST..LAST, from 1 on (default 1..100)");
  add_quantity(app, "--seed", options.seed, parse_seed, "1, 2, 3 … to " + std::to_string(seed_max),
               "one world");
  app.add_flag("--trace", options.trace, "say what happens, step by step");
  app.add_flag("--drop-caches", options.drop_caches, "with --trace: drop all caches at random");
  add_whole(app, "--threads", options.threads, 1, 1024, "how many worlds at a time");
  app.add_flag("--json", options.json, "end with one JSON object of all figures");
  app.add_flag("--list-plants", options.list_plants, "name the mistakes that can be planted");
  app.add_option("--plant", options.plant, "look for the first seed that catches this mistake");
  app.add_flag("--try-plants", options.try_plants, "the same for all of them, as a table");
  if (const auto code = read_command_line(app, argc, argv)) return *code;
  if (options.list_plants) return list_plants();
  if (!options.plant.empty() && !sim::plant_named(options.plant)) {
    std::cerr << "keel-dst: --plant: there is no '" << printable(options.plant)
              << "'; --list-plants names them\n";
    return 2;
  }
  if (options.seed) options.seeds = {*options.seed, *options.seed};
  if (options.try_plants || !options.plant.empty()) {
    const auto one = options.trace ? options.seed : std::nullopt;
    return dst::run_planted({options.plant, options.seeds, one, options.json}, argv);
  }
  return play(options);
}
