// Everything that is looked at after each step of the world.
#pragma once

#include "sim/checkers/devices.h"
#include "sim/checkers/jobs.h"
#include "sim/checkers/promises.h"

namespace keel::sim {

struct Checkers {
  DeviceChecker devices;
  JobChecker jobs;
  PromiseChecker promises;

  void appended(Epoch epoch, const Batch& batch, const ModelRows& rows) {
    devices.appended(batch);
    jobs.appended(epoch, batch, rows);
  }
  void began(const Run& run) { devices.began(run); }
  void ended(const TaskKey& key) { devices.ended(key); }
  void recovered(const State& state, const ModelRows& rows) const {
    jobs.recovered(state, rows);
    promises.kept(rows);
  }
};

}  // namespace keel::sim
