// Random values of the model for round-trip tests, from a seed that is always printed. KEEL_SEED
// sets it, to see a failure again.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "model/duty.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/report.h"
#include "model/spec.h"

namespace keel {

inline std::uint64_t seed_for_test() {
  const char* given = std::getenv("KEEL_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "KEEL_SEED=" << seed << "\n";
  return seed;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  // 0 to max; edges more often than they would come by themselves.
  std::uint64_t number(std::uint64_t max = UINT64_MAX) {
    const std::uint64_t drawn = random_();
    if (drawn % 8 == 0) return 0;
    if (drawn % 8 == 1) return max;
    return max == UINT64_MAX ? random_() : random_() % (max + 1);
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(UINT32_MAX)); }
  std::int64_t amount(std::int64_t max = INT64_MAX) {
    return static_cast<std::int64_t>(number(static_cast<std::uint64_t>(max)));
  }
  bool flip() { return random_() % 2 == 0; }
  std::size_t count(std::size_t max) { return random_() % (max + 1); }

  // UTF-8 of all lengths, control characters and quotes among it; no NUL.
  std::string text(std::size_t characters_max = 12) {
    static const std::vector<std::string> alphabet{
        "a",  "B", "7",  "-",  "_",    ".",    "/",      " ",      ":",  "#",      "\"",
        "\\", "'", "\n", "\t", "\x1b", "\x7f", "{",      "[",      "&",  "*",      "!",
        "%",  "?", ",",  "~",  "é",    "ß",    "\u0085", "\u202e", "漢", "\ufeff", "😀"};
    std::string text;
    for (std::size_t i = count(characters_max); i > 0; --i) {
      text += alphabet[random_() % alphabet.size()];
    }
    return text;
  }
  std::string word(std::size_t letters_max = 12) {
    std::string word(1 + count(letters_max - 1), 'a');
    for (char& c : word) c = "abcdefghijklmnopqrstuvwxyz0123456789-"[random_() % 37];
    return word;
  }
  Digest digest() {
    Digest digest;
    for (std::uint8_t& byte : digest.bytes) byte = static_cast<std::uint8_t>(random_());
    return digest;
  }
  template <class Enum>
  Enum one_of(Enum last) {
    return static_cast<Enum>(random_() % (static_cast<std::uint64_t>(last) + 1));
  }
  Reason reason() { return static_cast<Reason>(random_() % reason_count); }
  Instant instant() { return Instant{flip() ? amount() : -amount()}; }
  Duration duration() { return Duration{amount()}; }

  std::vector<DeviceId> devices() {
    std::vector<DeviceId> devices;
    for (std::size_t i = count(3); i > 0; --i) devices.push_back(DeviceId{word()});
    return devices;
  }
  TaskKey task_key() { return {JobId{number()}, AttemptNo{number32()}, number32()}; }
  Owner owner() { return {text(), number32(), number32()}; }
  Exit exit() {
    return {one_of(ExitKind::lost),
            static_cast<std::int32_t>(number32()),
            one_of(StopCause::superseded),
            flip(),
            flip(),
            text(40)};
  }
  Gang gang() { return {number32(), number32(), text()}; }
  Shape shape() {
    Shape shape{gang(), {}, {}};
    if (flip()) shape.cpu_per_task = Millicores{amount()};
    if (flip()) shape.memory_per_task = Bytes{amount()};
    return shape;
  }
  Task task() {
    return {{word()},
            devices(),
            static_cast<std::uint16_t>(number(UINT16_MAX)),
            one_of(TaskState::settled),
            flip() ? exit() : Exit{},
            instant(),
            instant()};
  }
  Job job();
  NodeInventory inventory();
  std::vector<ForeignTask> foreign();
  Node node() { return {inventory(), one_of(NodeState::unreachable), instant(), foreign()}; }
  JobSpec spec();
  JobEvent job_event(std::size_t kind);
  Report report();
  DutyKind duty(std::size_t kind, const Digest& spec);

 private:
  std::mt19937_64 random_;
};

inline Job Generator::job() {
  Job job;
  job.id = JobId{number()};
  job.owner = owner();
  job.key = text();
  job.said = digest();
  job.spec = digest();
  job.shape = shape();
  job.time_limit = duration();
  job.grace = duration();
  job.retries = number32();
  if (flip()) job.start_deadline = duration();
  job.state = one_of(JobState::rejected);
  job.submitted = instant();
  job.since = instant();
  job.not_before = instant();
  job.before_unknown = one_of(JobState::rejected);
  job.attempt = AttemptNo{number32()};
  job.token = FencingToken{number()};
  job.claim_by = instant();
  for (std::size_t i = count(4); i > 0; --i) job.tasks.push_back(task());
  if (!job.tasks.empty() && flip()) {
    job.first_failed = static_cast<std::uint32_t>(count(job.tasks.size() - 1));
  }
  job.user_failures = number32();
  job.infrastructure_failures = number32();
  job.reason = reason();
  return job;
}

inline std::vector<ForeignTask> Generator::foreign() {
  std::vector<ForeignTask> tasks;
  for (std::size_t i = count(2); i > 0; --i) tasks.push_back({task_key(), {number()}});
  return tasks;
}

inline NodeInventory Generator::inventory() {
  NodeInventory inventory;
  inventory.id = NodeId{word()};
  inventory.agent_id = text();
  inventory.boot_id = text();
  inventory.address = text();
  inventory.cpu = Millicores{amount()};
  inventory.memory = Bytes{amount()};
  for (std::size_t i = 0, n = count(4); i < n; ++i) {
    inventory.devices.push_back(Device{
        {"gpu-" + std::to_string(i)}, text(), {amount()}, one_of(DeviceHealth::failed), flip()});
  }
  for (std::size_t i = count(2); i > 0; --i) inventory.warnings.push_back(text());
  inventory.condition = one_of(NodeCondition::disk_full);
  return inventory;
}

inline JobSpec Generator::spec() {
  constexpr int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
  JobSpec spec;
  spec.name = text();
  for (std::size_t i = count(3); i > 0; --i) spec.labels[text()] = text();
  spec.program = text();
  for (std::size_t i = count(3); i > 0; --i) spec.args.push_back(text());
  for (std::size_t i = count(3); i > 0; --i) spec.env[text()] = text();
  for (std::size_t i = 0, n = count(3); i < n; ++i) {
    spec.files.push_back(TakenFile{"f" + std::to_string(i) + "/" + word(), digest(), flip()});
  }
  spec.gang = gang();
  if (flip()) spec.cpu_per_task = Millicores{amount()};
  if (flip()) spec.memory_per_task = Bytes{amount()};
  spec.time_limit = duration();
  spec.grace = duration();
  spec.stop_signal = signals[count(4)];
  spec.retries = number32();
  if (flip()) spec.start_deadline = duration();
  return spec;
}

inline JobEvent Generator::job_event(std::size_t kind) {
  const FencingToken token{number()};
  switch (kind) {
    case 0: {
      Submitted event{owner(),    text(),     digest(),   digest(), shape(),
                      duration(), duration(), number32(), {}};
      if (flip()) event.start_deadline = duration();
      return event;
    }
    case 1: return Admitted{};
    case 2: return Rejected{reason()};
    case 3: return Expired{};
    case 4: {
      Reserved event{token, instant(), static_cast<std::uint16_t>(number(UINT16_MAX)), {}};
      for (std::size_t i = count(3); i > 0; --i) event.slots.push_back(Slot{{word()}, devices()});
      return event;
    }
    case 5: return Voided{token, reason(), instant(), number32(), text()};
    case 6: return TaskPrepared{token, number32()};
    case 7: return Launched{token};
    case 8: return TaskStarted{token, number32()};
    case 9: return Started{token};
    case 10: return TaskEnded{token, number32(), exit()};
    case 11: return Ended{token};
    case 12: return TaskSettled{token, number32()};
    case 13: return Succeeded{};
    case 14: return Failed{reason()};
    case 15: return Requeued{reason(), instant()};
    case 16: return Preempted{token};
    case 17: return Silenced{};
    case 18: return Heard{};
    case 19: return LateSucceeded{token};
    default: return Canceled{};
  }
}

inline Report Generator::report() {
  Report report{ReportNo{number()}, flip(), {}, {}};
  if (flip()) report.inventory = inventory();
  for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(count(4)); i < n; ++i) {
    report.tasks.push_back(TaskReport{{JobId{7}, AttemptNo{1}, i},
                                      {number()},
                                      one_of(TaskPhase::refused),
                                      flip() ? exit() : Exit{},
                                      reason(),
                                      text()});
  }
  return report;
}

inline DutyKind Generator::duty(std::size_t kind, const Digest& spec_named) {
  switch (kind) {
    case 0:
      return Prepare{devices(),
                     owner(),
                     spec_named,
                     duration(),
                     number32(),
                     text(),
                     static_cast<std::uint16_t>(number(UINT16_MAX))};
    case 1: return Start{};
    case 2: return Stop{one_of(StopCause::superseded)};
    case 3: return Commit{};
    default: return Release{};
  }
}

}  // namespace keel
