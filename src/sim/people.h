// The workload: who submits what, cancels what, and how their programs behave.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/spec.h"
#include "ports/inputs.h"

namespace keel::sim {

class World;

// What the main process of one task does.
struct Program {
  Duration length{};
  Exit exit{};
  bool heeds_notice{};
  bool leaves_some{};  // processes, when its main one ends
};

class People {
 public:
  explicit People(World& world);

  // Plans all that they are going to do.
  void begin();

  // The same for the same task in every world of this seed.
  Program program_of(const TaskKey& key) const;

  // Whether everybody has had their answers.
  bool content() const { return waiting_ == 0; }

 private:
  struct Wish {
    SubmitKey key{};
    Digest said{};
    JobSpec spec{};
    bool cancels{};
    JobId job{};
  };
  void ask_for(std::size_t wish);
  void heard(std::size_t wish, const AnswerKind& answer);
  void ask_for_another(std::size_t wish);
  void cancel(std::size_t wish);
  void later(Duration most, std::function<void()> what);
  JobSpec draw_spec();

  World& world_;
  Random chance_;
  std::uint64_t seed_;
  std::vector<Wish> wishes_;
  std::size_t waiting_{};
};

}  // namespace keel::sim
