#include "adapters/processes/log_line.h"

#include <charconv>
#include <chrono>
#include <cstdio>

namespace keel {
namespace {

namespace chrono = std::chrono;

constexpr std::size_t time_bytes = 27;

// Reads the digits of `text` at `at`; -1 where they are none.
std::int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  std::int64_t number{};
  const char* const first = text.data() + at;
  const auto parsed = std::from_chars(first, first + count, number);
  return parsed.ec == std::errc{} && parsed.ptr == first + count && *first != '-' ? number : -1;
}

std::optional<Instant> parse_time(std::string_view text) {
  constexpr std::string_view pattern = "0000-00-00T00:00:00.000000Z";
  for (std::size_t i = 0; i < time_bytes; ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return std::nullopt;
  }
  const chrono::year_month_day date{chrono::year{static_cast<int>(digits(text, 0, 4))},
                                    chrono::month{static_cast<unsigned>(digits(text, 5, 2))},
                                    chrono::day{static_cast<unsigned>(digits(text, 8, 2))}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t second =
      digits(text, 11, 2) * 3600 + digits(text, 14, 2) * 60 + digits(text, 17, 2);
  const std::int64_t days = chrono::sys_days{date}.time_since_epoch().count();
  return Instant{(days * 86'400 + second) * 1'000'000 + digits(text, 20, 6)};
}

}  // namespace

std::string print_time(Instant wall) {
  const chrono::sys_time<chrono::microseconds> at{chrono::microseconds{wall.us}};
  const auto day_start = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date{day_start};
  const chrono::hh_mm_ss time{at - day_start};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text;
}

std::string_view log_mark(bool error, bool partial) {
  if (error) return partial ? " E P " : " E F ";
  return partial ? " O P " : " O F ";
}

std::optional<LogLine> parse_log_line(std::string_view line) {
  if (line.size() < log_head_bytes) return std::nullopt;
  const auto at = parse_time(line);
  const char stream = line[28];
  const char whole = line[30];
  const bool spaced = line[27] == ' ' && line[29] == ' ' && line[31] == ' ';
  if (!at || !spaced || (stream != 'O' && stream != 'E') || (whole != 'F' && whole != 'P')) {
    return std::nullopt;
  }
  return LogLine{.at = *at,
                 .error = stream == 'E',
                 .partial = whole == 'P',
                 .text = std::string(line.substr(log_head_bytes))};
}

std::string segment_name(std::int64_t offset) {
  char name[32];
  std::snprintf(name, sizeof name, "%020lld", static_cast<long long>(offset));
  return name;
}

std::optional<std::int64_t> parse_segment_name(std::string_view name) {
  if (name.size() != 20) return std::nullopt;
  const std::int64_t offset = digits(name, 0, 20);
  return offset >= 0 ? std::optional(offset) : std::nullopt;
}

}  // namespace keel
