#include "wire/quantity.h"

#include <array>
#include <csignal>
#include <utility>

#include "base/checked.h"

namespace keel {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t count;
};

// Largest first. "ms" and "us" are told from "m" by taking the longest run of letters.
constexpr std::array<Unit, 6> duration_units{{{"d", 86'400'000'000},
                                              {"h", 3'600'000'000},
                                              {"m", 60'000'000},
                                              {"s", 1'000'000},
                                              {"ms", 1'000},
                                              {"us", 1}}};
constexpr std::array<Unit, 4> binary_units{{{"Ti", std::int64_t{1} << 40},
                                            {"Gi", std::int64_t{1} << 30},
                                            {"Mi", std::int64_t{1} << 20},
                                            {"Ki", std::int64_t{1} << 10}}};
constexpr std::array<Unit, 4> decimal_units{
    {{"T", 1'000'000'000'000}, {"G", 1'000'000'000}, {"M", 1'000'000}, {"K", 1'000}}};
constexpr std::array<std::pair<std::string_view, int>, 5> stop_signals{
    {{"TERM", SIGTERM}, {"INT", SIGINT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// whole + fraction / scale
struct Number {
  std::int64_t whole{};
  std::int64_t fraction{};
  std::int64_t scale{1};
  bool has_point{};
};

std::optional<std::int64_t> number_of(std::string_view digits) {
  const auto number = parse_whole(digits);
  if (!number || *number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<Number> take_number(std::string_view& text) {
  Number number;
  const auto whole = number_of(take_digits(text));
  if (!whole) return std::nullopt;
  number.whole = *whole;
  if (text.empty() || text.front() != '.') return number;
  text.remove_prefix(1);
  number.has_point = true;
  std::string_view digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
  for (const char digit : digits) {
    const auto shifted = checked_mul<std::int64_t>(number.fraction, 10);
    const auto scale = checked_mul<std::int64_t>(number.scale, 10);
    if (!shifted || !scale) return std::nullopt;
    number.fraction = *shifted + (digit - '0');
    number.scale = *scale;
  }
  return number;
}

std::optional<std::int64_t> exactly(const Number& number, std::int64_t unit) {
  const auto whole = checked_mul(number.whole, unit);
  const auto part = checked_mul(number.fraction, unit);
  if (!whole || !part || *part % number.scale != 0) return std::nullopt;
  return checked_add(*whole, *part / number.scale);
}

std::optional<std::int64_t> size_unit(std::string_view name) {
  if (name.empty()) return 1;
  for (const Unit& unit : binary_units) {
    if (unit.name == name) return unit.count;
  }
  for (const Unit& unit : decimal_units) {
    if (unit.name == name) return unit.count;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : text) {
    if (!is_digit(digit)) return std::nullopt;
    const auto shifted = checked_mul<std::uint64_t>(number, 10);
    const auto sum =
        shifted ? checked_add(*shifted, static_cast<std::uint64_t>(digit - '0')) : std::nullopt;
    if (!sum) return std::nullopt;
    number = *sum;
  }
  return number;
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  while (!text.empty()) {
    const auto number = number_of(take_digits(text));
    if (!number) return std::nullopt;
    std::size_t letters = 0;
    while (letters < text.size() && !is_digit(text[letters])) ++letters;
    const std::string_view name = text.substr(0, letters);
    text.remove_prefix(letters);
    while (next_unit < duration_units.size() && duration_units[next_unit].name != name) ++next_unit;
    if (next_unit == duration_units.size()) return std::nullopt;
    const auto part = checked_mul(*number, duration_units[next_unit].count);
    const auto sum = part ? checked_add(total, *part) : std::nullopt;
    if (!sum) return std::nullopt;
    total = *sum;
    ++next_unit;
  }
  return Duration{total};
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto number = take_number(text);
  const auto unit = size_unit(text);
  if (!number || !unit) return std::nullopt;
  const auto count = exactly(*number, *unit);
  if (!count) return std::nullopt;
  return Bytes{*count};
}

std::optional<Millicores> parse_millicores(std::string_view text) {
  const auto number = take_number(text);
  if (!number || !(text.empty() || text == "m")) return std::nullopt;
  if (text == "m" && number->has_point) return std::nullopt;
  const auto count = exactly(*number, text.empty() ? 1000 : 1);
  if (!count) return std::nullopt;
  return Millicores{*count};
}

std::optional<int> parse_stop_signal(std::string_view text) {
  if (text.substr(0, 3) == "SIG") text.remove_prefix(3);
  for (const auto& [name, number] : stop_signals) {
    if (name == text) return number;
  }
  return std::nullopt;
}

std::string print(Duration duration) {
  if (duration.us == 0) return "0s";
  std::string text = duration.us < 0 ? "-" : "";
  std::uint64_t rest = duration.us < 0 ? 0 - static_cast<std::uint64_t>(duration.us)
                                       : static_cast<std::uint64_t>(duration.us);
  for (const Unit& unit : duration_units) {
    if (unit.name == "d") continue;  // "36h" is read more easily than "1d12h", and "24h" is usual
    const std::uint64_t count = rest / static_cast<std::uint64_t>(unit.count);
    if (count == 0) continue;
    rest %= static_cast<std::uint64_t>(unit.count);
    text += std::to_string(count);
    text += unit.name;
  }
  return text;
}

std::string print(Bytes bytes) {
  for (const Unit& unit : binary_units) {
    if (bytes.count == 0 || bytes.count % unit.count != 0) continue;
    return std::to_string(bytes.count / unit.count).append(unit.name);
  }
  return std::to_string(bytes.count);
}

std::string print(Millicores cpu) {
  if (cpu.count % 1000 == 0) return std::to_string(cpu.count / 1000);
  return std::to_string(cpu.count) + "m";
}

std::string print_stop_signal(int signal) {
  for (const auto& [name, number] : stop_signals) {
    if (number == signal) return std::string(name);
  }
  return std::to_string(signal);
}

}  // namespace keel
