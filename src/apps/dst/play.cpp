#include "apps/dst/play.h"

#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/checkers/violation.h"
#include "sim/world.h"

namespace keel::dst {
namespace {

constexpr std::uint64_t again_every = 10;

thread_local std::uint64_t under_way = 0;

void play_thrice(std::uint64_t seed, Sums& sums) {
  const auto digest = play(seed, {}, sums);
  if (!digest || seed % again_every != 0) return;
  Sums again;
  if (play(seed, {}, again) != digest) {
    sums.violations.emplace(seed, "I23: a second run is another");
  }
  if (play(seed, {.drop_caches = true}, again) != digest) {
    sums.violations.emplace(seed, "caches: dropping them changes what is decided");
  }
}

}  // namespace

void Sums::add(const Sums& other) {
  seeds += other.seeds;
  violations.insert(other.violations.begin(), other.violations.end());
  simulated = simulated + other.simulated;
  for (std::size_t i = 0; i < faults.size(); ++i) faults.at(i) += other.faults.at(i);
  for (const auto& [edge, count] : other.transitions) transitions[edge] += count;
}

std::uint64_t seed_under_way() { return under_way; }

std::optional<std::uint64_t> play(std::uint64_t seed, const How& how, Sums& sums) {
  under_way = seed;
  sim::World world(seed, how.trace ? &std::cout : nullptr);
  if (how.drop_caches) world.drop_caches();
  std::optional<std::uint64_t> digest;
  try {
    world.run();
    digest = world.trace.digest();
  } catch (const sim::Violation& violation) {
    sums.violations.emplace(seed, violation.what());
  }
  ++sums.seeds;
  sums.simulated = sums.simulated + (world.agenda.now() - Instant{});
  for (std::size_t i = 0; i < sim::fault_count; ++i) {
    sums.faults.at(i) += world.faults.counts().at(i);
  }
  for (const auto& [edge, count] : world.checkers.jobs.transitions()) {
    sums.transitions[edge] += count;
  }
  under_way = 0;
  return digest;
}

Sums play_all(const Range& seeds, unsigned threads,
              const std::function<void(std::uint64_t)>& progress) {
  Sums all;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = seeds.first;
  const auto work = [&] {
    for (std::uint64_t seed = next++; seed <= seeds.last; seed = next++) {
      Sums one;
      play_thrice(seed, one);
      const std::lock_guard lock(mutex);
      all.add(one);
      progress(all.seeds);
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return all;
}

}  // namespace keel::dst
