#include "sim/people.h"

#include <csignal>

#include "sim/plane.h"
#include "sim/world.h"

namespace keel::sim {
namespace {

constexpr Duration impatient_after = seconds(30);
constexpr Duration again_max = seconds(10);

Digest digest_of(std::uint64_t number) {
  Digest digest;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    digest.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
  }
  return digest;
}

}  // namespace

People::People(World& world) : world_(world), chance_(world.chance.split()), seed_(chance_.next()) {
  for (std::int64_t i = 0; i < world.shape.jobs; ++i) {
    const std::string user = "user-" + std::to_string(chance_.between(1, 3));
    wishes_.push_back({.key = {user, "key-" + std::to_string(i)},
                       .said = digest_of(chance_.next()),
                       .spec = draw_spec(),
                       .cancels = chance_.one_in(5)});
  }
}

JobSpec People::draw_spec() {
  JobSpec spec{.name = "job", .program = "train"};
  const std::int64_t tasks = chance_.between(1, 3);
  spec.gang.tasks = static_cast<std::uint32_t>(tasks);
  spec.gang.gpus_per_task =
      static_cast<std::uint32_t>(chance_.between(0, World::devices_of_largest / tasks));
  spec.time_limit = Duration{chance_.between(seconds(30).us, hours(1).us)};
  spec.grace = Duration{chance_.between(0, seconds(20).us)};
  spec.stop_signal = SIGTERM;
  spec.retries = static_cast<std::uint32_t>(chance_.between(0, 2));
  if (chance_.one_in(8))
    spec.start_deadline = Duration{chance_.between(seconds(10).us, hours(1).us)};
  return spec;
}

Program People::program_of(const TaskKey& key) const {
  Random chance(seed_ ^ (key.job.value * 31 + key.attempt.value * 7 + key.task));
  Program program{.length = Duration{chance.between(1000, minutes(1).us)},
                  .exit = {.kind = ExitKind::exited},
                  .heeds_notice = !chance.one_in(3),
                  .leaves_some = chance.one_in(4)};
  if (chance.one_in(4)) program.length = program.length + minutes(chance.between(1, 10));
  if (chance.one_in(10)) program.length = program.length + minutes(chance.between(10, 40));
  if (chance.one_in(5)) program.exit.code = 1;
  if (chance.one_in(20)) program.exit = {.kind = ExitKind::signaled, .code = SIGSEGV};
  return program;
}

void People::later(Duration most, std::function<void()> what) {
  world_.agenda.after(Duration{chance_.between(1, most.us)}, std::move(what));
}

void People::begin() {
  for (std::size_t i = 0; i < wishes_.size(); ++i) {
    ++waiting_;
    later(world_.shape.length, [this, i] { ask_for(i); });
  }
}

void People::ask_for(std::size_t wish) {
  const Wish& one = wishes_.at(wish);
  if (one.job != JobId{}) return;
  const int times = world_.faults.strikes(Fault::request_repeated) ? 3 : 1;
  for (int i = 0; i < times; ++i) {
    Plane* const plane = world_.dialed();
    if (plane == nullptr) continue;
    world_.agenda.after(world_.network.latency(), [this, plane, wish] {
      const Wish& asked = wishes_.at(wish);
      plane->ask(
          [&](Ticket ticket) {
            return SubmitInput{.ticket = ticket,
                               .owner = {.user = asked.key.user},
                               .key = asked.key.key,
                               .said = asked.said,
                               .spec_digest = asked.said,
                               .spec = asked.spec};
          },
          [this, wish](const AnswerKind& answer) { heard(wish, answer); });
    });
  }
  world_.agenda.after(impatient_after, [this, wish] { ask_for(wish); });
}

void People::heard(std::size_t wish, const AnswerKind& answer) {
  Wish& one = wishes_.at(wish);
  const auto* submitted = std::get_if<SubmitAnswer>(&answer);
  if (submitted == nullptr) return;  // asked again in a while
  world_.say(one.key.user, one.key.key + " is " + print(submitted->job));
  world_.checkers.promises.acknowledged(one.key, one.said, submitted->job);
  if (one.job != JobId{}) return;
  one.job = submitted->job;
  --waiting_;
  if (chance_.one_in(4)) later(again_max, [this, wish] { ask_for_another(wish); });
  if (!one.cancels) return;
  ++waiting_;
  later(minutes(3), [this, wish] { cancel(wish); });
}

// The same key for something else must be refused.
void People::ask_for_another(std::size_t wish) {
  Plane* const plane = world_.dialed();
  if (plane == nullptr) return;
  const Wish& one = wishes_.at(wish);
  Digest other = one.said;
  other.bytes[31] = 1;
  plane->ask(
      [&](Ticket ticket) {
        return SubmitInput{.ticket = ticket,
                           .owner = {.user = one.key.user},
                           .key = one.key.key,
                           .said = other,
                           .spec_digest = other,
                           .spec = one.spec};
      },
      [this, wish, other](const AnswerKind& answer) {
        const SubmitKey& key = wishes_.at(wish).key;
        if (const auto* made = std::get_if<SubmitAnswer>(&answer)) {
          world_.checkers.promises.acknowledged(key, other, made->job);
        } else if (const auto* refused = std::get_if<KeyConflict>(&answer)) {
          world_.checkers.promises.conflicted(key, other, refused->first);
        }
      });
}

void People::cancel(std::size_t wish) {
  Wish& one = wishes_.at(wish);
  if (!one.cancels) return;
  if (Plane* const plane = world_.dialed()) {
    plane->ask(
        [&](Ticket ticket) {
          return CancelInput{ticket, one.job};
        },
        [this, wish](const AnswerKind& answer) {
          Wish& done = wishes_.at(wish);
          // The store was put back to before it was submitted.
          const bool gone = std::holds_alternative<NoSuchJob>(answer) && world_.put_back > 0;
          if (const auto* canceled = std::get_if<CancelAnswer>(&answer)) {
            world_.checkers.promises.canceled(canceled->job, canceled->state);
            world_.say(done.key.user,
                       print(done.job) + " is " + std::string(print(canceled->state)));
          } else if (!gone) {
            return;
          }
          if (std::exchange(done.cancels, false)) --waiting_;
        });
  }
  world_.agenda.after(impatient_after, [this, wish] { cancel(wish); });
}

}  // namespace keel::sim
