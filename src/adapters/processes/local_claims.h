// The agent's promises as files: STATE/tasks/JOB.ATTEMPT.TASK/claim and STATE/floors.
#pragma once

#include <string>
#include <vector>

#include "adapters/processes/files.h"
#include "keel/v1/local.pb.h"
#include "ports/claims.h"

namespace keel {

class LocalClaims : public Claims {
 public:
  // state  the agent's directory, made where it is not there; its parent must exist
  // node   this host's own name
  static Result<LocalClaims, std::string> open(const std::string& state, NodeId node);

  // A claim that cannot be read is moved aside and listed in damaged(), and the others are given.
  // One that a newer version wrote is an error: without it we would give its devices away.
  // Claims of an earlier boot come with a deadline that has passed, since boot time began again.
  Result<Kept, std::string> load() override;

  // A claim is durable when this returns, but for the words "prepared" and "running": after a power
  // cut it may be as it was before them. Floors are durable once a claim on those devices is, and
  // before any claim is erased.
  Result<Done, std::string> write(const Claim& claim) override;
  Result<Done, std::string> write_floors(const std::map<DeviceId, FencingToken>& floors) override;
  void erase(const TaskKey& key) override;

  // What the last load() moved aside, for the operator's log.
  const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  LocalClaims(Descriptor state, Descriptor tasks, NodeId node)
      : state_(std::move(state)), tasks_(std::move(tasks)), node_(std::move(node)) {}

  Result<Done, std::string> load_claim(const std::string& name, Kept& kept);
  Result<Done, std::string> load_floors(Kept& kept);
  void set_aside(int directory, const char* name, const std::string& why);

  Descriptor state_;
  Descriptor tasks_;
  NodeId node_;
  std::vector<std::string> damaged_;
};

}  // namespace keel
