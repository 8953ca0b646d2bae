#include "adapters/nvml/xid.h"

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

namespace keel::nvml {
namespace {

constexpr std::uint32_t code_max = 9999;

template <class T>
struct Word {
  std::string_view word;
  T value;
};

constexpr std::array<Word<XidClass>, 5> classes{{{"application", XidClass::application},
                                                 {"note", XidClass::note},
                                                 {"degraded", XidClass::degraded},
                                                 {"draining", XidClass::draining},
                                                 {"failed", XidClass::failed}}};

// NVML's numbers of architectures.
constexpr std::array<Word<std::uint32_t>, 9> generations{{{"any", 0},
                                                          {"maxwell", 3},
                                                          {"pascal", 4},
                                                          {"volta", 5},
                                                          {"turing", 6},
                                                          {"ampere", 7},
                                                          {"ada", 8},
                                                          {"hopper", 9},
                                                          {"blackwell", 10}}};

template <class T, std::size_t N>
Result<T, std::string> value_of(std::string_view word, const std::array<Word<T>, N>& words) {
  std::string allowed;
  for (const Word<T>& one : words) {
    if (one.word == word) return one.value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(one.word);
  }
  return "'" + std::string(word) + "' is none of " + allowed;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t bar = line.find('|');
    columns.push_back(trimmed(line.substr(0, bar)));
    if (bar == line.npos) return columns;
    line.remove_prefix(bar + 1);
  }
}

struct Line {
  std::uint32_t code{};
  std::uint32_t from{};
  Xid xid{};
};

Result<Line, std::string> parse_line(std::string_view text) {
  const auto columns = columns_of(text);
  if (columns.size() != 4) return std::string("it should look like CODE | CLASS | FROM | MEANING");
  std::uint32_t code{};
  const std::string_view digits = columns[0];
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code);
  if (error != std::errc{} || end != digits.data() + digits.size() || code > code_max) {
    return "'" + std::string(digits) + "' is no code from 0 to " + std::to_string(code_max);
  }
  TRY(severity, value_of(columns[1], classes));
  TRY(from, value_of(columns[2], generations));
  if (columns[3].empty()) return std::string("the meaning is missing");
  return Line{code, from, {severity, std::string(columns[3])}};
}

}  // namespace

Result<XidCatalogue, std::string> XidCatalogue::parse(std::string_view text) {
  XidCatalogue catalogue;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string where = "line " + std::to_string(number) + ": ";
    const auto parsed = parse_line(line);
    if (!parsed) return where + parsed.error();
    if (!catalogue.lines_.emplace(std::pair{parsed->code, parsed->from}, parsed->xid).second) {
      return where + "code " + std::to_string(parsed->code) + " stands twice for one generation";
    }
  }
  return catalogue;
}

Xid XidCatalogue::find(std::uint32_t code, std::uint32_t architecture) const {
  const Xid* found = nullptr;
  for (auto line = lines_.lower_bound({code, 0}); line != lines_.end(); ++line) {
    if (line->first.first != code) break;
    if (found == nullptr || line->first.second <= architecture) found = &line->second;
  }
  return found ? *found : Xid{XidClass::note, "not in the catalogue"};
}

}  // namespace keel::nvml
