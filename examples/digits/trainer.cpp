#include "trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include "failure.h"
#include "random.h"
#include "stop_signals.h"

namespace keel::digits {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// All tasks ask each other this often during a pause whether one of them has to stop.
constexpr milliseconds pause_slice{50};

// What travels behind the gradient of each step.
enum Extra : std::size_t { loss, correct, seen, stop_votes, save_votes, extra_count };

double seconds_since(SteadyTime start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

}  // namespace

RunSettings settings_of(const Flags& flags, const Shard& shard) {
  return {.hidden = flags.hidden,
          .batch = flags.batch,
          .seed = flags.seed,
          .split_crc = shard.split_crc,
          .rate = flags.rate};
}

Trainer::Trainer(const Flags& flags, Gang& gang, Shard shard, std::optional<CheckpointFile> file)
    : flags_(flags),
      gang_(gang),
      shard_(std::move(shard)),
      file_(std::move(file)),
      state_{.settings = settings_of(flags, shard_),
             .progress = {},
             .network = initial_network(flags.hidden, flags.seed),
             .velocity = std::vector<double>(weight_count(flags.hidden), 0.0)} {
  if (leads()) validation_ = read_validation_split(flags.dataset_path);
  resume();
}

std::optional<Checkpoint> Trainer::load() const {
  if (!file_) return std::nullopt;
  auto loaded = file_->load(state_.settings);
  if (const auto* const fault = std::get_if<CheckpointFault>(&loaded)) {
    std::printf("checkpoint %s refused: %s; starting anew\n", file_->path().c_str(),
                describe(*fault));
  }
  if (auto* const checkpoint = std::get_if<Checkpoint>(&loaded)) return std::move(*checkpoint);
  return std::nullopt;
}

// Rank 0 alone reads the file, so no two ranks can disagree about it.
void Trainer::resume() {
  Bytes bytes;
  if (leads()) {
    if (const auto checkpoint = load()) bytes = encode(*checkpoint);
  }
  bytes = gang_.broadcast(std::move(bytes));
  if (bytes.empty()) return;
  auto decoded = decode(bytes, state_.settings);
  if (const auto* const fault = std::get_if<CheckpointFault>(&decoded)) {
    throw Failure(std::string("rank 0 sent a checkpoint, but ") + describe(*fault));
  }
  state_ = std::get<Checkpoint>(std::move(decoded));
  first_step_ = state_.progress.step;
  std::printf("rank %zu: resumed from checkpoint at step %llu (epoch %llu)\n", gang_.rank(),
              static_cast<unsigned long long>(state_.progress.step),
              static_cast<unsigned long long>(state_.progress.epoch + 1));
}

Ending Trainer::train() {
  try {
    while (state_.progress.epoch < flags_.epochs) {
      if (const auto ending = train_epoch()) return *ending;
      if (pause()) return Ending::stopped;
    }
    return Ending::trained;
  } catch (const PeerLost&) {
    save();  // The step under way is lost with the peer, those before it need not be.
    throw;
  }
}

// Trains to the end of the epoch under way; gives an ending only where it has to stop before.
std::optional<Ending> Trainer::train_epoch() {
  const SteadyTime start = steady_clock::now();
  Progress& progress = state_.progress;
  const auto order = shuffled(shard_.total, {.seed = flags_.seed, .epoch = progress.epoch});
  const std::size_t batch = static_cast<std::size_t>(flags_.batch);
  const std::size_t first = static_cast<std::size_t>(progress.epoch_step) * batch;
  for (std::size_t at = first; at < order.size(); at += batch) {
    const auto rest = std::span(order).subspan(at);
    const Wishes wishes = make_step(rest.first(std::min(batch, rest.size())));
    const bool due = flags_.checkpoint_every != 0 && progress.step % flags_.checkpoint_every == 0;
    if (wishes.stop || wishes.save || due) save();
    if (wishes.stop) return Ending::stopped;
  }
  report_epoch(seconds_since(start), order.size() - std::min(first, order.size()));
  progress.epoch += 1;
  progress.epoch_step = 0;
  progress.epoch_score = {};
  return std::nullopt;
}

Trainer::Wishes Trainer::make_step(std::span<const std::size_t> batch) {
  const std::size_t weights = state_.network.weights.size();
  std::vector<double> sums(weights + extra_count, 0.0);
  const auto gradient = std::span(sums).first(weights);
  const auto extra = std::span(sums).subspan(weights);
  Score mine;
  for (const std::size_t i : batch) {
    if (!shard_.holds(i)) continue;
    mine += add_gradient(state_.network, shard_.samples[i - shard_.first], gradient);
  }
  extra[loss] = mine.loss;
  extra[correct] = static_cast<double>(mine.correct);
  extra[seen] = static_cast<double>(mine.seen);
  extra[stop_votes] = stop_asked() ? 1 : 0;
  extra[save_votes] = take_save_request() ? 1 : 0;
  // Without all-reduce the gradients stay at home, but the gang still keeps step.
  gang_.sum(flags_.all_reduce ? std::span(sums) : extra);

  if (!std::isfinite(extra[loss])) {
    throw Failure("the loss is no longer finite at step " + std::to_string(state_.progress.step) +
                  "; a smaller --lr may help");
  }
  for (double& g : gradient) g /= static_cast<double>(batch.size());
  descend(state_.network, state_.velocity, gradient, flags_.rate);
  state_.progress.epoch_score += Score{.loss = extra[loss],
                                       .correct = static_cast<std::size_t>(extra[correct]),
                                       .seen = static_cast<std::size_t>(extra[seen])};
  state_.progress.epoch_step += 1;
  state_.progress.step += 1;
  return {.stop = extra[stop_votes] > 0, .save = extra[save_votes] > 0};
}

// Sleeps in slices; true where one of the tasks has to stop.
bool Trainer::pause() {
  for (milliseconds left = flags_.pause; left.count() > 0; left -= pause_slice) {
    std::this_thread::sleep_for(std::min(left, pause_slice));
    std::array<double, 2> votes{stop_asked() ? 1.0 : 0.0, take_save_request() ? 1.0 : 0.0};
    gang_.sum(votes);
    if (votes[0] > 0 || votes[1] > 0) save();
    if (votes[0] > 0) return true;
  }
  return false;
}

// A checkpoint that cannot be written is told, and does not end the training.
void Trainer::save() const {
  if (!leads()) return;
  const auto step = static_cast<unsigned long long>(state_.progress.step);
  if (!file_) {
    if (stop_asked()) std::printf("KEEL_CHECKPOINT_DIR is not set: step %llu is not saved\n", step);
    return;
  }
  try {
    file_->save(state_);
    std::printf("checkpoint saved at step %llu\n", step);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "digits: no checkpoint at step %llu: %s\n", step, failure.what());
  }
}

void Trainer::report_epoch(double seconds, std::size_t samples) const {
  if (!leads()) return;
  std::printf(
      "epoch %llu/%llu loss %.4f train accuracy %.4f validation accuracy %.4f %.0f samples/s\n",
      static_cast<unsigned long long>(state_.progress.epoch + 1),
      static_cast<unsigned long long>(flags_.epochs), state_.progress.epoch_score.mean_loss(),
      state_.progress.epoch_score.accuracy(), score(state_.network, validation_).accuracy(),
      static_cast<double>(samples) / std::max(seconds, 1e-9));
}

}  // namespace keel::digits
