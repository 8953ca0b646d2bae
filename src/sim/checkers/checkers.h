// Everything that is looked at after each step of the world.
#pragma once

#include "sim/checkers/devices.h"
#include "sim/checkers/jobs.h"
#include "sim/checkers/promises.h"
#include "sim/checkers/traffic.h"

namespace keel::sim {

struct Checkers {
  DeviceChecker devices;
  JobChecker jobs;
  PromiseChecker promises;
  TrafficChecker traffic;

  void appended(Epoch epoch, const Batch& batch, const ModelRows& rows) {
    devices.appended(batch);
    jobs.appended(epoch, batch, rows);
    traffic.stored(batch.events.size());
  }
  // The store is what it was when these were copies of the present ones.
  void put_back(const JobChecker& then, const PromiseChecker& promised, const ModelRows& rows) {
    jobs.put_back(then, rows.lost.back().after);
    promises = promised;
    devices.put_back(rows);
  }
  void claimed(const Run& run) { devices.claimed(run); }
  void began(const Run& run) { devices.began(run); }
  void main_ended(const TaskKey& key, const Exit& exit) { jobs.program_ended(key, exit); }
  void ended(const TaskKey& key) { devices.ended(key); }
  void recovered(Epoch epoch, const State& state, const ModelRows& rows) {
    jobs.took_over(epoch);
    jobs.recovered(state, rows);
    promises.kept(rows);
  }
};

}  // namespace keel::sim
