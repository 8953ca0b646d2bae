#include "model/ids.h"

#include <charconv>

namespace keel {
namespace {

constexpr std::string_view base32 = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::string_view base16 = "0123456789abcdef";
constexpr std::size_t job_id_length = 13;  // 13 x 5 = 65 bits: the first character holds four

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool canonical = text.size() == 1 || (!text.empty() && text.front() != '0');
  if (error != std::errc{} || end != text.data() + text.size() || !canonical) return std::nullopt;
  return number;
}

}  // namespace

std::string print(JobId id) {
  std::string text(job_id_length, '0');
  std::uint64_t rest = id.value;
  for (std::size_t i = job_id_length; i-- > 0; rest >>= 5) text[i] = base32[rest & 31];
  return text;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  if (text.size() != job_id_length) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const std::size_t digit = base32.find(c);
    if (digit == std::string_view::npos || (value >> 59) != 0) return std::nullopt;
    value = (value << 5) | digit;
  }
  return JobId{value};
}

std::string print(const Digest& digest) {
  std::string text;
  text.reserve(2 * digest.bytes.size());
  for (const std::uint8_t byte : digest.bytes) {
    text += base16[byte >> 4];
    text += base16[byte & 15];
  }
  return text;
}

std::optional<Digest> parse_digest(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const std::size_t high = base16.find(text[2 * i]);
    const std::size_t low = base16.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string print(const TaskKey& key) {
  return print(key.job) + "." + std::to_string(key.attempt.value) + "." + std::to_string(key.task);
}

std::optional<TaskKey> parse_task_key(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? text.npos : text.find('.', first + 1);
  if (second == text.npos) return std::nullopt;
  const auto job = parse_job_id(text.substr(0, first));
  const auto attempt = parse_number(text.substr(first + 1, second - first - 1));
  const auto task = parse_number(text.substr(second + 1));
  if (!job || !attempt || !task) return std::nullopt;
  return TaskKey{*job, AttemptNo{*attempt}, *task};
}

}  // namespace keel
