#include "dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "child.h"
#include "failure.h"

namespace keel::digits {
namespace {

std::set<int> labels_of(const std::vector<Sample>& samples) {
  std::set<int> labels;
  for (const Sample& sample : samples) labels.insert(sample.label);
  return labels;
}

std::string bytes_of(const Sample& sample) { return {sample.pixels.begin(), sample.pixels.end()}; }

TEST(dataset, the_splits_have_their_sizes_and_all_classes) {
  const Shard train = read_training_shard(DIGITS_DATA, {});
  EXPECT_EQ(train.samples.size(), 1262U);
  EXPECT_EQ(read_validation_split(DIGITS_DATA).size(), 180U);
  EXPECT_EQ(read_test_split(DIGITS_DATA).size(), 355U);
  EXPECT_EQ(labels_of(train.samples).size(), classes);
  EXPECT_EQ(labels_of(read_test_split(DIGITS_DATA)).size(), classes);
}

TEST(dataset, no_image_of_the_test_split_is_in_another) {
  std::set<std::string> seen;
  for (const Sample& sample : read_training_shard(DIGITS_DATA, {}).samples) {
    seen.insert(bytes_of(sample));
  }
  for (const Sample& sample : read_validation_split(DIGITS_DATA)) seen.insert(bytes_of(sample));
  for (const Sample& sample : read_test_split(DIGITS_DATA)) {
    EXPECT_FALSE(seen.contains(bytes_of(sample)));
  }
}

TEST(dataset, shards_cover_the_training_split_once_whatever_their_number) {
  for (const std::size_t world : {1U, 2U, 3U, 7U, 64U}) {
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < world; ++rank) {
      const Shard shard = read_training_shard(DIGITS_DATA, {.rank = rank, .world = world});
      EXPECT_EQ(shard.first, next);
      next += shard.samples.size();
    }
    EXPECT_EQ(next, 1262U);
  }
}

TEST(dataset, one_shard_of_two_lacks_classes) {
  const Shard low = read_training_shard(DIGITS_DATA, {.rank = 0, .world = 2});
  const Shard high = read_training_shard(DIGITS_DATA, {.rank = 1, .world = 2});
  EXPECT_FALSE(labels_of(low.samples).contains(9));
  EXPECT_FALSE(labels_of(high.samples).contains(0));
}

TEST(dataset, a_changed_byte_a_short_file_and_another_file_are_refused) {
  const TestFolder folder;
  const std::string path = folder / "digits.bin";
  const std::string whole = contents(DIGITS_DATA);
  const auto refused = [&path](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_THROW((void)read_training_shard(path, {}), Failure);
  };
  std::string changed = whole;
  changed[100] = static_cast<char>(changed[100] ^ 1);
  refused(changed);
  refused(whole.substr(0, 1000));
  refused("KEELDIG1");
  refused("");
  refused("something else altogether, and long enough for a header");
  EXPECT_THROW((void)read_training_shard(folder / "absent", {}), Failure);
}

}  // namespace
}  // namespace keel::digits
