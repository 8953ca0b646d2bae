// The training loop of one task: shards, steps, epochs, checkpoints.
#pragma once

#include <optional>

#include "checkpoint.h"
#include "dataset.h"
#include "flags.h"
#include "gang.h"

namespace keel::digits {

enum class Ending {
  trained,  // All epochs are done.
  stopped,  // Some task of the gang got SIGTERM; what was reached is in the checkpoint.
};

// Holds what one task knows of the run. All ranks make the same steps: each adds the gradients of
// those samples of a batch that lie in its own shard, and the sum over all ranks is the batch's
// gradient, whatever the number of tasks.
class Trainer {
 public:
  // Loads this rank's shard and, on rank 0, the validation split and the checkpoint, which all
  // ranks then share. `file` is absent where no checkpoint is wanted; only rank 0 touches it.
  Trainer(const Flags& flags, Gang& gang, Shard shard, std::optional<CheckpointFile> file);

  Ending train();

  [[nodiscard]] const Network& network() const { return state_.network; }
  // The step at which this attempt began: 0 where it started anew.
  [[nodiscard]] std::uint64_t first_step() const { return first_step_; }

 private:
  struct Wishes {
    bool stop = false;
    bool save = false;
  };

  void resume();
  [[nodiscard]] std::optional<Checkpoint> load() const;
  std::optional<Ending> train_epoch();
  Wishes make_step(std::span<const std::size_t> batch);
  bool pause();
  void save() const;
  void report_epoch(double seconds, std::size_t samples) const;
  [[nodiscard]] bool leads() const { return gang_.rank() == 0; }

  const Flags& flags_;
  Gang& gang_;
  Shard shard_;
  std::optional<CheckpointFile> file_;
  std::vector<Sample> validation_;
  Checkpoint state_;
  std::uint64_t first_step_ = 0;
};

RunSettings settings_of(const Flags& flags, const Shard& shard);

}  // namespace keel::digits
