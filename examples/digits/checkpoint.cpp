#include "checkpoint.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "failure.h"

namespace keel::digits {
namespace {

constexpr std::string_view magic = "KEELCKP1";
constexpr std::size_t head_bytes = 12;       // Magic and checksum.
constexpr std::uint64_t hidden_max = 4'096;  // As of --hidden; bounds what a length can ask for.

Bytes body_of(const Checkpoint& checkpoint) {
  ByteWriter body;
  body.u64(checkpoint.settings.hidden);
  body.u64(checkpoint.settings.batch);
  body.u64(checkpoint.settings.seed);
  body.u64(checkpoint.settings.split_crc);
  body.f64(checkpoint.settings.rate);
  body.u64(checkpoint.progress.epoch);
  body.u64(checkpoint.progress.epoch_step);
  body.u64(checkpoint.progress.step);
  body.f64(checkpoint.progress.epoch_score.loss);
  body.u64(checkpoint.progress.epoch_score.correct);
  body.u64(checkpoint.progress.epoch_score.seen);
  body.f64s(checkpoint.network.weights);
  body.f64s(checkpoint.velocity);
  return body.bytes();
}

// The fields are read in the order in which they are written: members of a braced list are
// evaluated from left to right.
Checkpoint read_body(ByteReader& body) {
  Checkpoint checkpoint{
      .settings = {.hidden = body.u64(),
                   .batch = body.u64(),
                   .seed = body.u64(),
                   .split_crc = body.u64(),
                   .rate = body.f64()},
      .progress = {.epoch = body.u64(),
                   .epoch_step = body.u64(),
                   .step = body.u64(),
                   .epoch_score = {.loss = body.f64(), .correct = body.u64(), .seen = body.u64()}},
      .network = {.hidden = 0, .weights = {}},
      .velocity = {}};
  if (checkpoint.settings.hidden <= hidden_max) {
    checkpoint.network.hidden = checkpoint.settings.hidden;
    checkpoint.network.weights = body.f64s(weight_count(checkpoint.network.hidden));
    checkpoint.velocity = body.f64s(weight_count(checkpoint.network.hidden));
  }
  return checkpoint;
}

}  // namespace

const char* describe(CheckpointFault fault) {
  switch (fault) {
    case CheckpointFault::not_a_checkpoint: return "it is not a checkpoint of this program";
    case CheckpointFault::damaged: return "it is damaged";
    case CheckpointFault::of_another_run: return "it is of a run with other settings";
  }
  return "it cannot be read";
}

Bytes encode(const Checkpoint& checkpoint) {
  const Bytes body = body_of(checkpoint);
  ByteWriter head;
  head.text(magic);
  head.u32(crc32(body));
  Bytes whole = head.bytes();
  whole.insert(whole.end(), body.begin(), body.end());
  return whole;
}

std::variant<Checkpoint, CheckpointFault> decode(std::span<const std::byte> bytes,
                                                 const RunSettings& settings) {
  ByteReader head(bytes);
  if (head.text(magic.size()) != magic || bytes.size() < head_bytes) {
    return CheckpointFault::not_a_checkpoint;
  }
  const auto body_bytes = bytes.subspan(head_bytes);
  if (head.u32() != crc32(body_bytes)) return CheckpointFault::damaged;
  ByteReader body(body_bytes);
  Checkpoint checkpoint = read_body(body);
  if (!body.ok() || body.left() != 0) return CheckpointFault::damaged;
  if (checkpoint.settings != settings) return CheckpointFault::of_another_run;
  return checkpoint;
}

CheckpointFile::CheckpointFile(const std::string& folder)
    : path_((std::filesystem::path(folder) / "digits.checkpoint").string()) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Failure("cannot make " + folder + " (KEEL_CHECKPOINT_DIR): " + error.message());
  }
}

std::variant<std::monostate, Checkpoint, CheckpointFault> CheckpointFile::load(
    const RunSettings& settings) const {
  std::ifstream stream(path_, std::ios::binary);
  if (!stream) {
    if (std::filesystem::exists(path_)) throw Failure("cannot open " + path_);
    return std::monostate{};
  }
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  auto decoded = decode(std::as_bytes(std::span(text)), settings);
  if (auto* const checkpoint = std::get_if<Checkpoint>(&decoded)) return std::move(*checkpoint);
  std::filesystem::rename(path_, path_ + ".refused");
  return std::get<CheckpointFault>(decoded);
}

void CheckpointFile::save(const Checkpoint& checkpoint) const {
  write_durably(path_, encode(checkpoint));
}

}  // namespace keel::digits
