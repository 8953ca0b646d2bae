// keel-dst: plays simulated worlds, one for each seed, and looks for a promise that does not hold.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>

#include "apps/dst/planted.h"
#include "apps/dst/play.h"
#include "sim/plants.h"

namespace {

using namespace keel;

struct Options {
  std::string seeds = "1..100";
  std::optional<std::uint64_t> seed;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::string plant;
  bool list_plants{};
  bool try_plants{};
  bool trace{};
  bool drop_caches{};
  bool json{};
};

// What the command line holds, fit for a terminal.
std::string shown(std::string text) {
  const auto harmful = [](unsigned char c) { return c < ' ' || c >= 0x7f; };
  std::ranges::replace_if(text, harmful, '?');
  return text;
}

bool read_number(std::string_view digits, std::uint64_t& value) {
  if (digits.starts_with('0') && digits != "0") return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size();
}

// An option that takes a number from 1 to `most`, in digits only.
void add_number(CLI::App& app, const std::string& name, std::uint64_t most,
                std::function<void(std::uint64_t)> take, const std::string& what) {
  const auto read = [name, most, take = std::move(take)](const std::string& text) {
    std::uint64_t value{};
    if (!read_number(text, value) || value < 1 || value > most) {
      throw CLI::ValidationError(
          name, "'" + text + "' is no whole number from 1 to " + std::to_string(most));
    }
    take(value);
  };
  app.add_option_function<std::string>(name, read, what)->type_name("N");
}

// "FIRST..LAST", or nothing where it is not that.
std::optional<dst::Range> parse(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  dst::Range range;
  const std::string_view all = text;
  if (!read_number(all.substr(0, dots), range.first) ||
      !read_number(all.substr(dots + 2), range.last)) {
    return std::nullopt;
  }
  // The number after the last one is where a thread stops.
  const bool in_order = 0 < range.first && range.first <= range.last;
  return in_order && range.last <= UINT64_MAX / 2 ? std::optional(range) : std::nullopt;
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

int play(const Options& options, const dst::Range& range) {
  std::signal(SIGABRT, say_seed);
  const auto began = std::chrono::steady_clock::now();
  dst::Sums sums;
  if (options.trace) {
    for (std::uint64_t seed = range.first; seed <= range.last; ++seed)
      dst::play(seed, {true, options.drop_caches}, sums);
  } else {
    const std::uint64_t all = range.last - range.first + 1;
    const bool person = isatty(STDERR_FILENO) != 0;
    sums = dst::play_all(range, options.threads, [&](std::uint64_t done) {
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
  app.add_option("--seeds", options.seeds, "which worlds: FIRST..LAST, from 1 on");
  add_number(
      app, "--seed", UINT64_MAX / 2, [&](std::uint64_t seed) { options.seed = seed; }, "one world");
  app.add_flag("--trace", options.trace, "say what happens, step by step");
  app.add_flag("--drop-caches", options.drop_caches, "with --trace: drop all caches at random");
  const auto set_threads = [&](std::uint64_t n) { options.threads = static_cast<unsigned>(n); };
  add_number(app, "--threads", 1024, set_threads, "how many worlds at a time; one for each core");
  app.add_flag("--json", options.json, "end with one JSON object of all figures");
  app.add_flag("--list-plants", options.list_plants, "name the mistakes that can be planted");
  app.add_option("--plant", options.plant, "look for the first seed that catches this mistake");
  app.add_flag("--try-plants", options.try_plants, "the same for all of them, as a table");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "keel-dst: " << shown(error.what()) << "\n";
    return 2;
  }
  if (options.list_plants) return list_plants();
  auto range = parse(options.seeds);
  if (!range) {
    std::cerr << "keel-dst: --seeds takes FIRST..LAST, from 1 on; not '" << shown(options.seeds)
              << "'\n";
    return 2;
  }
  if (!options.plant.empty() && !sim::plant_named(options.plant)) {
    std::cerr << "keel-dst: --plant: there is no '" << shown(options.plant)
              << "'; --list-plants names them\n";
    return 2;
  }
  if (options.seed) range = {*options.seed, *options.seed};
  if (options.try_plants || !options.plant.empty()) {
    const auto one = options.trace ? options.seed : std::nullopt;
    return dst::run_planted({options.plant, *range, one, options.json}, argv);
  }
  return play(options, *range);
}
