// Only in keel-dst-planted.
#include "apps/dst/planted.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iomanip>
#include <iostream>
#include <vector>

#include "sim/plants.h"

namespace keel {
namespace with_plants {
namespace {

Plant sown = Plant::none;  // before any world is played

}  // namespace

bool planted(Plant plant) { return plant == sown; }

}  // namespace with_plants
}  // namespace keel

namespace keel::dst {
namespace {

// How a plant was caught: by which seed and what, or not at all.
struct Catch {
  std::uint64_t seed{};  // 0: by none of them
  std::string by{};
};

// Plays in this process, in order, until something is seen. Writes each seed's number before it is
// played, and then what was seen.
void play_into(int out, Plant plant, const Range& seeds) {
  with_plants::sown = plant;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const std::string begins = std::to_string(seed) + "\n";
    if (write(out, begins.data(), begins.size()) < 0) _exit(2);
    Sums sums;
    play(seed, {}, sums);
    if (sums.violations.empty()) continue;
    const std::string& seen = sums.violations.begin()->second;
    _exit(write(out, seen.data(), seen.size()) < 0 ? 2 : 1);
  }
  _exit(0);
}

struct Trial {
  sim::PlantKind kind;
  pid_t process{};
  int in{};
};

Trial begin(const sim::PlantKind& kind, const Range& seeds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  const pid_t process = fork();
  if (process == 0) {
    std::freopen("/dev/null", "w", stderr);  // the last words of a check that holds no more
    play_into(ends[1], kind.plant, seeds);
  }
  close(ends[1]);
  return {kind, process, ends[0]};
}

Catch outcome(const Trial& trial) {
  std::string said;
  char part[4096];
  for (ssize_t n = 0; (n = read(trial.in, part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(n));
  close(trial.in);
  int status = 0;
  waitpid(trial.process, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const std::size_t end = said.rfind('\n');
  const std::size_t begin = said.rfind('\n', end - 1) + 1;
  return {std::stoull(said.substr(begin == std::string::npos ? 0 : begin)),
          WIFEXITED(status) ? said.substr(end + 1) : "a check of the code itself"};
}

std::string invariant_of(const std::string& seen) { return seen.substr(0, seen.find(':')); }

int try_all(const Range& seeds, unsigned side_by_side) {
  const auto kinds = sim::all_plants();
  std::vector<Trial> under_way;
  std::vector<std::uint64_t> first_seeds;
  std::size_t missed = 0;
  std::cout << std::left << std::setw(32) << "PLANT" << std::setw(8) << "SEED"
            << "CAUGHT BY\n";
  for (std::size_t next = 0; next < kinds.size() || !under_way.empty();) {
    while (next < kinds.size() && under_way.size() < side_by_side) {
      under_way.push_back(begin(kinds[next++], seeds));
    }
    const Trial trial = under_way.front();
    under_way.erase(under_way.begin());
    const Catch caught = outcome(trial);
    missed += caught.seed == 0 ? 1 : 0;
    if (caught.seed != 0) first_seeds.push_back(caught.seed - seeds.first + 1);
    std::cout << std::setw(32) << trial.kind.name << std::setw(8)
              << (caught.seed == 0 ? "none" : std::to_string(caught.seed)) << caught.by
              << std::endl;
  }
  std::ranges::sort(first_seeds);
  std::cout << kinds.size() - missed << " of " << kinds.size() << " plants caught";
  if (!first_seeds.empty()) {
    std::cout << ", the median within " << first_seeds[first_seeds.size() / 2] << " seeds, the last"
              << " within " << first_seeds.back();
  }
  std::cout << std::endl;
  return missed == 0 ? 0 : 1;
}

int try_one(const sim::PlantKind& kind, const PlantedRun& run) {
  const auto began = std::chrono::steady_clock::now();
  const Catch caught = outcome(begin(kind, run.seeds));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  const bool seen = caught.seed != 0;
  std::cout << kind.name << " (" << kind.what << "): ";
  if (seen) {
    std::cout << "seed " << caught.seed << ": " << caught.by << "\n";
  } else {
    std::cout << "not caught by seeds " << run.seeds.first << " to " << run.seeds.last << "\n";
  }
  if (run.json) {
    std::cout << R"({"plant": ")" << kind.name << R"(", "caught": )" << (seen ? "true" : "false");
    if (seen) {
      std::cout << ", \"seed\": " << caught.seed << R"(, "by": ")" << invariant_of(caught.by)
                << '"';
    }
    std::cout << ", \"seconds\": " << taken.count() << "}" << std::endl;
  }
  return seen ? 0 : 1;
}

}  // namespace

int run_planted(const PlantedRun& run, char**) {
  if (run.plant.empty()) return try_all(run.seeds, 2);
  const auto kind = sim::plant_named(run.plant);
  if (!run.one) return try_one(*kind, run);
  with_plants::sown = kind->plant;
  Sums sums;
  play(*run.one, {.trace = true}, sums);
  for (const auto& [seed, seen] : sums.violations)
    std::cout << "seed " << seed << ": " << seen << "\n";
  return sums.violations.empty() ? 1 : 0;
}

}  // namespace keel::dst
