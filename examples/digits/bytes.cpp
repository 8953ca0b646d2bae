#include "bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "failure.h"

namespace keel::digits {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    table[i] = crc;
  }
  return table;
}

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags, 0644)) {
    if (fd_ < 0) fail("open");
  }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void sync() {
    while (::fsync(fd_) != 0) {
      if (errno != EINTR) fail("sync");
    }
  }

 private:
  [[noreturn]] void fail(const char* verb) const {
    throw Failure("cannot " + std::string(verb) + " " + path_ + ": " + std::strerror(errno));
  }

  std::string path_;
  int fd_;
};

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8U) ^ table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  }
  return ~crc;
}

void ByteWriter::text(std::string_view text) {
  for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
}

void ByteWriter::u32(std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void ByteWriter::u64(std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void ByteWriter::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

void ByteWriter::f64s(std::span<const double> values) {
  for (const double value : values) f64(value);
}

std::span<const std::byte> ByteReader::take(std::size_t count) {
  if (!ok_ || count > left_.size()) {
    ok_ = false;
    return {};
  }
  const auto taken = left_.first(count);
  left_ = left_.subspan(count);
  return taken;
}

std::uint64_t ByteReader::integer(std::size_t width) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const std::byte byte : take(width)) {
    value |= std::to_integer<std::uint64_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

std::string ByteReader::text(std::size_t length) {
  std::string text;
  for (const std::byte byte : take(length)) text.push_back(static_cast<char>(byte));
  return text;
}

std::uint32_t ByteReader::u32() { return static_cast<std::uint32_t>(integer(4)); }

std::uint64_t ByteReader::u64() { return integer(8); }

double ByteReader::f64() { return std::bit_cast<double>(u64()); }

std::vector<double> ByteReader::f64s(std::size_t count) {
  std::vector<double> values;
  if (count > left_.size() / 8) {
    ok_ = false;
    return values;
  }
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.push_back(f64());
  return values;
}

void write_durably(const std::string& path, std::span<const std::byte> bytes) {
  const std::string draft = path + ".tmp";
  {
    OpenFile file(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    file.write(bytes);
    file.sync();
  }
  if (std::rename(draft.c_str(), path.c_str()) != 0) {
    throw Failure("cannot rename " + draft + " to " + path + ": " + std::strerror(errno));
  }
  // Without this the new name itself may be lost in a crash.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  OpenFile(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC).sync();
}

}  // namespace keel::digits
