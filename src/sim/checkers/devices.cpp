#include "sim/checkers/devices.h"

#include <algorithm>

#include "sim/checkers/violation.h"

namespace keel::sim {

void DeviceChecker::appended(const Batch& batch) {
  for (const StoredEvent& event : batch.events) {
    const auto* fact = std::get_if<JobFact>(&event.fact);
    const auto* ended = fact != nullptr ? std::get_if<TaskEnded>(&fact->event) : nullptr;
    if (ended == nullptr || ended->exit.text != "its node is gone") continue;
    for (const auto& [key, run] : runs_) {
      if (key.job == fact->job && key.task == ended->task && run.token == ended->token) {
        given_up_.insert(key);
      }
    }
  }
  for (const HoldingChange& change : batch.holdings) {
    const auto held = held_.find(change.device);
    if (change.taken) {
      expect(held == held_.end(), "I1",
             change.device.uuid + " is given to " + print(change.key) + " while it is held by " +
                 (held == held_.end() ? "" : print(held->second)));
      held_[change.device] = change.key;
      const auto used = used_.find(change.device);
      const bool gone = used == used_.end() ||
                        (given_up_.contains(used->second) && killed_.contains(used->second));
      expect(gone, "I2",
             change.device.uuid + " is given to " + print(change.key) + " while " +
                 (gone ? "" : print(used->second)) + " uses it");
    } else {
      expect(held != held_.end() && held->second == change.key, "I1",
             change.device.uuid + " is freed by " + print(change.key) + ", which does not hold it");
      held_.erase(held);
    }
  }
}

void DeviceChecker::put_back(const ModelRows& rows) {
  held_.clear();
  for (const auto& [device, holding] : rows.holdings) held_[device] = holding.key;
}

void DeviceChecker::claimed(const Run& run) {
  for (const DeviceId& device : run.devices) {
    FencingToken& newest = newest_claimed_[device];
    expect(run.token > newest, "I3",
           print(run.key) + " claims " + device.uuid + " with token " +
               std::to_string(run.token.value) + " after " + std::to_string(newest.value));
    newest = run.token;
  }
}

void DeviceChecker::began(const Run& run) {
  for (const DeviceId& device : run.devices) {
    const auto used = used_.find(device);
    expect(used == used_.end(), "I2",
           print(run.key) + " starts on " + device.uuid + ", which " +
               (used == used_.end() ? "" : print(used->second)) + " uses");
    used_[device] = run.key;
    FencingToken& newest = newest_[device];
    expect(run.token >= newest, "I3",
           print(run.key) + " starts on " + device.uuid + " with token " +
               std::to_string(run.token.value) + " after " + std::to_string(newest.value));
    newest = run.token;
  }
  const auto other = std::ranges::find_if(runs_, [&](const auto& one) {
    // By token: a forgotten attempt of a store that was put back may have the same number.
    return one.first.job == run.key.job && one.second.token != run.token &&
           !killed_.contains(one.first);
  });
  expect(other == runs_.end(), "I4",
         print(run.key) + " starts while " + (other == runs_.end() ? "" : print(other->first)) +
             " runs");
  expect(!runs_.contains(run.key), "I4", print(run.key) + " starts twice");
  runs_.emplace(run.key, run);
}

void DeviceChecker::ended(const TaskKey& key) {
  const auto run = runs_.find(key);
  expect(run != runs_.end(), "I2", print(key) + " ends and was not running");
  for (const DeviceId& device : run->second.devices) used_.erase(device);
  runs_.erase(run);
  killed_.erase(key);
  given_up_.erase(key);
}

void DeviceChecker::killed(const TaskKey& key) { killed_.insert(key); }

}  // namespace keel::sim
