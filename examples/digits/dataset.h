// The digits file. Each split is read by a function of its own, which reads that split's bytes and
// no others: training code cannot see the test split, because nothing loads it before training has
// ended.
//
//   8 bytes   magic "KEELDIG1"
//   3 times   u32 number of samples, u32 CRC-32 of their bytes   (train, validation, test)
//   samples   65 bytes each: 64 pixels of 0..16, 1 label of 0..9 (train, validation, test)
//
// Integers are little-endian. Train is sorted by label.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace keel::digits {

inline constexpr std::size_t pixels_per_image = 64;
inline constexpr std::size_t classes = 10;
inline constexpr int pixel_max = 16;

struct Sample {
  std::array<std::uint8_t, pixels_per_image> pixels;
  std::uint8_t label;
};

// One rank's contiguous part of the training split. Because the split is sorted by label, a shard
// of several holds some classes only: a rank that hears nothing from the others cannot learn the
// rest.
struct Shard {
  std::size_t total;  // Samples in the whole split.
  std::size_t first;  // Position of samples[0] in the whole split.
  std::vector<Sample> samples;
  std::uint32_t split_crc;  // Names the split, the same on every rank.

  [[nodiscard]] bool holds(std::size_t i) const { return i >= first && i - first < samples.size(); }
};

struct Part {
  std::size_t rank = 0;
  std::size_t world = 1;
};

// All three throw Failure, naming the file and what is wrong with it. A shard smaller than the
// whole split is checked for plausible bytes, a whole split for its CRC too.
Shard read_training_shard(const std::string& path, Part part);
std::vector<Sample> read_validation_split(const std::string& path);
std::vector<Sample> read_test_split(const std::string& path);

}  // namespace keel::digits
