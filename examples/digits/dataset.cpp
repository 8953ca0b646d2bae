#include "dataset.h"

#include <fstream>

#include "bytes.h"
#include "failure.h"

namespace keel::digits {
namespace {

constexpr std::size_t sample_bytes = pixels_per_image + 1;
constexpr std::size_t split_count = 3;
constexpr std::size_t header_bytes = 8 + split_count * 8;
constexpr std::size_t samples_max =
    1'000'000;  // Of a split; keeps a damaged header from asking for GiB.

enum class Split { train, validation, test };

struct SplitEntry {
  std::size_t count = 0;
  std::uint32_t crc = 0;
  std::size_t offset = 0;  // In the file.
};

class DigitsFile {
 public:
  explicit DigitsFile(const std::string& path) : path_(path) {
    stream_.rdbuf()->pubsetbuf(nullptr, 0);  // No read-ahead into the next split.
    stream_.open(path, std::ios::binary);
    if (!stream_) throw Failure("cannot open " + path + " (--data)");
    const Bytes header = read(0, header_bytes);
    ByteReader reader(header);
    if (reader.text(8) != "KEELDIG1") fail("it does not begin with KEELDIG1");
    std::size_t offset = header_bytes;
    for (SplitEntry& entry : entries_) {
      entry.count = reader.u32();
      entry.crc = reader.u32();
      entry.offset = offset;
      if (entry.count == 0 || entry.count > samples_max) fail("a split is empty or too large");
      offset += entry.count * sample_bytes;
    }
  }

  [[nodiscard]] const SplitEntry& entry(Split split) const {
    return entries_[static_cast<std::size_t>(split)];
  }

  std::vector<Sample> samples(Split split, std::size_t first, std::size_t count) {
    const SplitEntry& its = entry(split);
    const Bytes bytes = read(its.offset + first * sample_bytes, count * sample_bytes);
    if (count == its.count && crc32(bytes) != its.crc) fail("a checksum does not match");
    std::vector<Sample> samples(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* const begin = bytes.data() + i * sample_bytes;
      for (std::size_t p = 0; p < pixels_per_image; ++p) {
        samples[i].pixels[p] = std::to_integer<std::uint8_t>(begin[p]);
        if (samples[i].pixels[p] > pixel_max) fail("a pixel is above 16");
      }
      samples[i].label = std::to_integer<std::uint8_t>(begin[pixels_per_image]);
      if (samples[i].label >= classes) fail("a label is above 9");
    }
    return samples;
  }

 private:
  Bytes read(std::size_t offset, std::size_t count) {
    Bytes bytes(count);
    stream_.seekg(static_cast<std::streamoff>(offset));
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    if (static_cast<std::size_t>(stream_.gcount()) != count) fail("it is too short");
    return bytes;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(path_ + " (--data) is not a digits file: " + why);
  }

  std::string path_;
  std::ifstream stream_;
  std::array<SplitEntry, split_count> entries_;
};

std::vector<Sample> read_whole(const std::string& path, Split split) {
  DigitsFile file(path);
  return file.samples(split, 0, file.entry(split).count);
}

}  // namespace

Shard read_training_shard(const std::string& path, Part part) {
  DigitsFile file(path);
  const SplitEntry& train = file.entry(Split::train);
  const std::size_t first = train.count * part.rank / part.world;
  const std::size_t end = train.count * (part.rank + 1) / part.world;
  return {.total = train.count,
          .first = first,
          .samples = file.samples(Split::train, first, end - first),
          .split_crc = train.crc};
}

std::vector<Sample> read_validation_split(const std::string& path) {
  return read_whole(path, Split::validation);
}

std::vector<Sample> read_test_split(const std::string& path) {
  return read_whole(path, Split::test);
}

}  // namespace keel::digits
