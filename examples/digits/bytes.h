// Little-endian bytes, CRC-32 and files that survive a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::digits {

using Bytes = std::vector<std::byte>;

// The CRC-32 of zip and zlib.
std::uint32_t crc32(std::span<const std::byte> bytes);

class ByteWriter {
 public:
  void text(std::string_view text);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void f64(double value);
  void f64s(std::span<const double> values);
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

// Reads what ByteWriter wrote. Past the end it gives zeros, and ok() is false from then on.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::string text(std::size_t length);
  std::uint32_t u32();
  std::uint64_t u64();
  double f64();
  // Gives an empty vector, and ok() false, where fewer than `count` are left.
  std::vector<double> f64s(std::size_t count);

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> take(std::size_t count);
  std::uint64_t integer(std::size_t width);

  std::span<const std::byte> left_;
  bool ok_ = true;
};

// Replaces the file at `path`: after a crash it holds either the old bytes or the new ones, whole.
// Throws Failure with the path and the system's reason.
void write_durably(const std::string& path, std::span<const std::byte> bytes);

}  // namespace keel::digits
