// Devices: who holds them by the store's word, and who uses them in truth.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "model/ids.h"
#include "sim/model_store.h"

namespace keel::sim {

// The main process of a task, at the moment of its start.
struct Run {
  TaskKey key;
  NodeId node;
  std::vector<DeviceId> devices{};
  FencingToken token;
};

// I1: no device is in two live reservations.
// I2: no device is used by two running attempts, in the world's own truth, nor handed out while it
// is used; only what a silent node has surely killed counts as gone without being seen to end.
// I4: no two attempts of a job run at once.
// I3: fences per device never go down; nothing older is claimed or starts after something newer.
class DeviceChecker {
 public:
  void appended(const Batch& batch);
  // What is held by the store's word is what it was; what is used in truth stays.
  void put_back(const ModelRows& rows);
  // By an agent, on its disk, and not before.
  void claimed(const Run& run);
  void began(const Run& run);
  void ended(const TaskKey& key);
  // It has had its SIGKILL and executes nothing any more, however long its devices are in use.
  void killed(const TaskKey& key);

  bool nothing_held() const { return held_.empty(); }
  bool nothing_runs() const { return runs_.empty(); }

 private:
  std::map<DeviceId, TaskKey> held_;
  std::map<DeviceId, TaskKey> used_;
  std::map<DeviceId, FencingToken> newest_;          // that started
  std::map<DeviceId, FencingToken> newest_claimed_;  // whatever became of it
  std::map<TaskKey, Run> runs_;
  std::set<TaskKey> killed_;
  std::set<TaskKey> given_up_;  // with their nodes, by proof of loss
};

}  // namespace keel::sim
