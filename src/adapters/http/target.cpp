#include "adapters/http/target.h"

#include "wire/text.h"

namespace keel {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
      if (!low) return std::nullopt;
      c = static_cast<char>(*high * 16 + *low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    decoded.push_back(c);
  }
  if (!is_utf8(decoded)) return std::nullopt;
  return decoded;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/') || target.find('#') != target.npos) return std::nullopt;
  auto question = target.find('?');
  Target parsed{std::string(target.substr(0, question)), {}};
  if (!decode(parsed.path, false)) return std::nullopt;
  if (question == target.npos) return parsed;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    auto end = rest.find('&');
    std::string_view pair = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    auto equals = pair.find('=');
    if (equals == pair.npos) return std::nullopt;
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(pair.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    parsed.query.emplace_back(std::move(*name), std::move(*value));
  }
  return parsed;
}

std::optional<std::string> match(std::string_view pattern, std::string_view path) {
  auto open = pattern.find('{');
  if (open == pattern.npos) return pattern == path ? std::optional<std::string>("") : std::nullopt;
  std::string_view before = pattern.substr(0, open);
  std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size()) return std::nullopt;
  if (!path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
  std::string_view middle = path.substr(before.size(), path.size() - before.size() - after.size());
  // A job's id holds no colon, so "/v1/jobs/x:cancel" is not the job "x:cancel".
  if (middle.find_first_of("/:") != middle.npos) return std::nullopt;
  return decode(middle, false);
}

}  // namespace keel
