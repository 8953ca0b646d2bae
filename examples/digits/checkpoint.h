// What a run needs to go on as if it had never stopped.
//
//   8 bytes  magic "KEELCKP1"
//   u32      CRC-32 of all that follows
//   u64      hidden, batch, seed, split CRC; f64 rate              (which run this is)
//   u64      epoch, step; f64 loss; u64 correct, seen               (how far it came)
//   f64s     weights, then velocity, weight_count(hidden) of each
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bytes.h"
#include "mlp.h"

namespace keel::digits {

// A checkpoint is of use only to a run of the same settings. The number of tasks is not among them,
// nor is the number of epochs.
struct RunSettings {
  std::uint64_t hidden;
  std::uint64_t batch;
  std::uint64_t seed;
  std::uint64_t split_crc;
  double rate;

  bool operator==(const RunSettings&) const = default;
};

struct Progress {
  std::uint64_t epoch = 0;       // Epochs ended.
  std::uint64_t epoch_step = 0;  // Steps made in the epoch under way.
  std::uint64_t step = 0;        // Steps made in all.
  Score epoch_score;             // Over the samples of those steps.
};

struct Checkpoint {
  RunSettings settings;
  Progress progress;
  Network network;
  std::vector<double> velocity;
};

// Why bytes are not a checkpoint of this run. The caller starts anew in all cases.
enum class CheckpointFault {
  not_a_checkpoint,  // Another file altogether, or one cut off in its first bytes.
  damaged,           // The checksum or the length is wrong.
  of_another_run,    // Whole, but of other settings.
};

const char* describe(CheckpointFault fault);

Bytes encode(const Checkpoint& checkpoint);
std::variant<Checkpoint, CheckpointFault> decode(std::span<const std::byte> bytes,
                                                 const RunSettings& settings);

// The checkpoint file of a run, in the folder that the platform keeps for it.
class CheckpointFile {
 public:
  // Makes the folder where it does not exist. Throws Failure where it cannot.
  explicit CheckpointFile(const std::string& folder);

  // Absent: monostate. A faulty one is moved aside (".refused"), so that it can be looked at and
  // the next one does not replace it.
  std::variant<std::monostate, Checkpoint, CheckpointFault> load(const RunSettings& settings) const;

  // Durable when it returns. Throws Failure.
  void save(const Checkpoint& checkpoint) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace keel::digits
