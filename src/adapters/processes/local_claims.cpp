#include "adapters/processes/local_claims.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "adapters/processes/identity.h"
#include "adapters/processes/task_files.h"
#include "wire/convert.h"

namespace keel {
namespace {

constexpr const char* floors_file = "floors";

pb::LocalClaim to_pb(const Claim& claim, const NodeId& node) {
  const Duty duty{.node = node, .key = claim.key, .token = claim.token, .kind = claim.order};
  pb::LocalClaim kept;
  *kept.mutable_prepare() = keel::to_pb(duty, Epoch{}, ReportNo{}, &claim.spec).prepare();
  kept.set_phase(keel::to_pb(claim.phase));
  kept.set_claim_until_us(claim.claim_until.us);
  kept.set_boot_id(boot_id());
  *kept.mutable_exit() = keel::to_pb(claim.exit);
  kept.set_refusal(std::string(print(claim.refusal)));
  kept.set_text(claim.text);
  if (claim.stop) kept.set_stop(keel::to_pb(*claim.stop));
  kept.set_started(claim.started);
  return kept;
}

Result<Claim, BadBytes> claim_from(const pb::LocalClaim& kept, const NodeId& node) {
  pb::ServerMessage message;
  *message.mutable_prepare() = kept.prepare();
  TRY(received, duty_from_pb(message, node));
  TRY(phase, from_pb(kept.phase()));
  TRY(exit, from_pb(kept.exit()));
  const auto refusal = parse_reason(kept.refusal());
  if (!refusal) return BadBytes{"LocalClaim.refusal: " + kept.refusal() + " is no reason"};
  std::optional<StopCause> stop;
  if (kept.stop() != pb::STOP_CAUSE_UNSPECIFIED) {
    TRY(cause, from_pb(kept.stop()));
    stop = cause;
  }
  const bool this_boot = kept.boot_id() == boot_id();
  return Claim{.key = received.duty.key,
               .token = received.duty.token,
               .order = std::get<Prepare>(received.duty.kind),
               .spec = received.spec.value_or(JobSpec{}),
               .phase = phase,
               .claim_until = this_boot ? Instant{kept.claim_until_us()} : Instant{},
               .started = kept.started(),
               .stop = stop,
               .exit = exit,
               .refusal = *refusal,
               .text = kept.text()};
}

}  // namespace

Result<LocalClaims, std::string> LocalClaims::open(const std::string& state, NodeId node) {
  TRY(directory, make_directory(AT_FDCWD, state, passable));
  TRY(tasks, make_directory(directory.get(), "tasks", passable));
  return LocalClaims(std::move(directory), std::move(tasks), std::move(node));
}

Result<Claims::Kept, std::string> LocalClaims::load() {
  damaged_.clear();
  Kept kept;
  for (const std::string& name : names_in(tasks_.get())) {
    TRY(loaded, load_claim(name, kept));
  }
  std::ranges::sort(kept.claims, {}, &Claim::key);
  TRY(floors, load_floors(kept));
  return kept;
}

Result<Done, std::string> LocalClaims::load_claim(const std::string& name, Kept& kept) {
  const auto key = parse_task_key(name);
  if (!key) return Done{};
  const auto directory = open_directory(tasks_.get(), name);
  if (!directory) return Done{};
  pb::LocalClaim claim;
  const Reading reading = read_message(directory->get(), claim_file, claim);
  if (reading == Reading::absent) return Done{};
  if (reading == Reading::newer) return "the claim of " + name + " " + describe(reading);
  auto ours = reading == Reading::good ? claim_from(claim, node_)
                                       : Result<Claim, BadBytes>(BadBytes{describe(reading)});
  if (ours && ours->key != *key) ours = BadBytes{"is that of " + print(ours->key)};
  if (!ours) {
    set_aside(directory->get(), claim_file, "the claim of " + name + ": " + ours.error().what);
    return Done{};
  }
  kept.claims.push_back(*std::move(ours));
  return Done{};
}

// A device's floor is also proved by each claim on it, should the floors themselves be lost.
Result<Done, std::string> LocalClaims::load_floors(Kept& kept) {
  pb::LocalFloors floors;
  const Reading reading = read_message(state_.get(), floors_file, floors);
  if (reading == Reading::newer) return "the file of token floors " + describe(reading);
  if (reading == Reading::damaged) {
    set_aside(state_.get(), floors_file, "the file of token floors " + describe(reading));
    floors.Clear();
  }
  for (const pb::TokenFloor& floor : floors.floors()) {
    kept.floors[DeviceId{floor.device()}] = FencingToken{floor.token()};
  }
  for (const Claim& claim : kept.claims) {
    for (const DeviceId& device : claim.order.devices) {
      FencingToken& floor = kept.floors[device];
      floor = std::max(floor, claim.token);
    }
  }
  return Done{};
}

void LocalClaims::set_aside(int directory, const char* name, const std::string& why) {
  const std::string aside = std::string(name) + ".damaged";
  // Where even that fails, the next load() says the same again.
  (void)::renameat(directory, name, directory, aside.c_str());
  damaged_.push_back(why);
}

Result<Done, std::string> LocalClaims::write(const Claim& claim) {
  const std::string name = print(claim.key);
  const bool is_new = !exists(tasks_.get(), name);
  TRY(directory, make_directory(tasks_.get(), name, passable));
  // The directory's own entry must survive a power cut as well.
  if (is_new && ::fsync(tasks_.get()) != 0) return failure("tasks");
  pb::LocalClaim kept = to_pb(claim, node_);
  // What a look at the host tells again need not survive a power cut, which leaves nothing running.
  const bool is_seen_again =
      (claim.phase == TaskPhase::prepared && !claim.started) || claim.phase == TaskPhase::running;
  return write_message(directory.get(), claim_file, kept,
                       is_seen_again && !claim.stop ? Lasting::whole : Lasting::power);
}

Result<Done, std::string> LocalClaims::write_floors(
    const std::map<DeviceId, FencingToken>& floors) {
  pb::LocalFloors kept;
  for (const auto& [device, token] : floors) {
    pb::TokenFloor& floor = *kept.add_floors();
    floor.set_device(device.uuid);
    floor.set_token(token.value);
  }
  // The directory is synced before a claim is erased: until then the claim proves its floors.
  return write_message(state_.get(), floors_file, kept, Lasting::whole);
}

void LocalClaims::erase(const TaskKey& key) {
  const std::string name = print(key);
  const auto directory = open_directory(tasks_.get(), name);
  if (!directory) return;
  if (::fsync(state_.get()) != 0) return;  // It is released again then.
  // A claim that comes back after a power cut is one of a task that the server has forgotten: it
  // is released again.
  ::unlinkat(directory->get(), claim_file, 0);
  ::unlinkat(directory->get(), name_beside(claim_file).c_str(), 0);
  ::unlinkat(tasks_.get(), name.c_str(), AT_REMOVEDIR);  // Fails while a log is kept there.
}

}  // namespace keel
