// One simulated fleet: control planes, hosts, people, and the network between them, on simulated
// time. Everything that decides is the shipped code (control/turn.h, agent/runner.h, agent/shim.h);
// everything here only plays the world around it, badly.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/policy.h"
#include "sim/agenda.h"
#include "sim/checkers/checkers.h"
#include "sim/faults.h"
#include "sim/model_store.h"
#include "sim/network.h"
#include "sim/trace.h"

namespace keel::sim {

class Host;
class People;
class Plane;

// Ends a simulated process at exactly this step. Thrown by its ports, caught by its owner.
struct Killed {};

// What a seed draws before anything happens.
struct Shape {
  std::int64_t planes{};
  std::int64_t hosts{};
  std::int64_t jobs{};
  Duration length{};  // of the bad times
};

class World {
 public:
  // One host has as many, and no job asks for more: so each could run some day.
  static constexpr int devices_of_largest = 8;

  explicit World(std::uint64_t seed, std::ostream* trace = nullptr);

  // From here on leaders drop their caches between turns, at random. It must change nothing.
  void drop_caches() { cache_chance_.emplace(Random(1)); }
  bool drops_caches() { return cache_chance_ && cache_chance_->one_in(8); }
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Bad times, then good ones, then judgement. Throws Violation.
  void run();

  // The plane that leads by its own belief and was the last to begin; null where none does.
  Plane* leading() const;

  // Whom somebody dials: mostly the one that leads.
  Plane* dialed();

  void say(std::string_view who, std::string_view what) { trace.say(agenda.now(), who, what); }

  Random chance;
  Shape shape;
  Policy policy;
  Faults faults;
  Agenda agenda;
  Trace trace;
  Network network;
  std::shared_ptr<ModelRows> rows;  // the store's disk
  Checkers checkers;
  std::vector<std::unique_ptr<Plane>> planes;
  std::vector<std::unique_ptr<Host>> hosts;
  std::unique_ptr<People> people;
  std::uint64_t terms{};     // of leadership, so far
  std::uint64_t put_back{};  // how often the store was, from an older copy

 private:
  // What somebody has copied, and what was true then.
  struct Copy {
    ModelContents rows;
    JobChecker jobs;
    PromiseChecker promises;
  };
  std::unique_ptr<Copy> copy_;
  std::unique_ptr<Copy> older_copy_;
  std::optional<Random> cache_chance_;  // of its own, so that all else stays as it was
  void look_after_planes();
  void look_after_store();
  void play(Instant end);
  void judge();
};

}  // namespace keel::sim
