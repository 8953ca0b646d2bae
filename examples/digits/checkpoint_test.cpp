#include "checkpoint.h"

#include <gtest/gtest.h>

#include "child.h"

namespace keel::digits {
namespace {

Checkpoint example() {
  Checkpoint checkpoint{
      .settings = {.hidden = 3, .batch = 32, .seed = 5, .split_crc = 77, .rate = 0.1},
      .progress = {.epoch = 2,
                   .epoch_step = 4,
                   .step = 84,
                   .epoch_score = {.loss = 1.5, .correct = 100, .seen = 128}},
      .network = initial_network(3, 5),
      .velocity = std::vector<double>(weight_count(3), -0.25)};
  return checkpoint;
}

std::optional<CheckpointFault> fault_of(std::span<const std::byte> bytes) {
  const auto decoded = decode(bytes, example().settings);
  const auto* const fault = std::get_if<CheckpointFault>(&decoded);
  return fault ? std::optional(*fault) : std::nullopt;
}

void expect_example(const Checkpoint& back) {
  EXPECT_EQ(back.settings, example().settings);
  EXPECT_EQ(back.progress.epoch, 2U);
  EXPECT_EQ(back.progress.epoch_step, 4U);
  EXPECT_EQ(back.progress.step, 84U);
  EXPECT_EQ(back.progress.epoch_score.loss, 1.5);
  EXPECT_EQ(back.progress.epoch_score.correct, 100U);
  EXPECT_EQ(back.progress.epoch_score.seen, 128U);
  EXPECT_EQ(back.network.hidden, 3U);
  EXPECT_EQ(back.network.weights, example().network.weights);
  EXPECT_EQ(back.velocity, example().velocity);
}

TEST(checkpoint, what_is_encoded_is_decoded) {
  const auto decoded = decode(encode(example()), example().settings);
  ASSERT_TRUE(std::holds_alternative<Checkpoint>(decoded));
  expect_example(std::get<Checkpoint>(decoded));
}

TEST(checkpoint, every_flipped_byte_is_noticed) {
  const Bytes whole = encode(example());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= std::byte{0x10};
    EXPECT_EQ(fault_of(flipped),
              i < 8 ? CheckpointFault::not_a_checkpoint : CheckpointFault::damaged)
        << "byte " << i;
  }
}

TEST(checkpoint, every_shorter_file_is_refused) {
  const Bytes whole = encode(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(fault_of(std::span(whole).first(size)).has_value()) << size << " bytes";
  }
}

TEST(checkpoint, one_of_other_settings_is_refused) {
  Checkpoint other = example();
  other.settings.seed = 6;
  EXPECT_EQ(fault_of(encode(other)), CheckpointFault::of_another_run);
}

TEST(checkpoint, a_file_is_loaded_as_saved_and_a_faulty_one_moved_aside) {
  const TestFolder folder;
  const CheckpointFile file(folder / "new/nested");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(file.load(example().settings)));
  file.save(example());
  const auto loaded = file.load(example().settings);
  ASSERT_TRUE(std::holds_alternative<Checkpoint>(loaded));
  expect_example(std::get<Checkpoint>(loaded));
  EXPECT_EQ(contents(file.path() + ".tmp"), "");

  write_durably(file.path(), std::as_bytes(std::span("rubbish")));
  const auto refused = file.load(example().settings);
  ASSERT_TRUE(std::holds_alternative<CheckpointFault>(refused));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(file.load(example().settings)));
  EXPECT_EQ(contents(file.path() + ".refused").substr(0, 7), "rubbish");
}

TEST(bytes, the_checksum_is_the_one_of_zip) {
  EXPECT_EQ(crc32(std::as_bytes(std::span("123456789", 9))), 0xcbf43926U);
}

}  // namespace
}  // namespace keel::digits
