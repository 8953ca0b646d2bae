// Text that came from outside: is it UTF-8, and how is it shown without harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keel {

inline constexpr std::string_view base16 = "0123456789abcdef";

// One character of UTF-8. No overlong forms, no surrogates, nothing above U+10FFFF.
struct Utf8Character {
  char32_t code{};
  std::size_t length{};  // bytes, 1 to 4
};

// The character that `text` begins with; nothing where it is empty or does not begin with one.
std::optional<Utf8Character> first_character(std::string_view text);

bool is_utf8(std::string_view text);

// `text` with every byte that belongs to no character replaced by U+FFFD. Protobuf refuses to read
// strings that are not UTF-8, so whatever comes from the operating system passes here first.
std::string as_utf8(std::string_view text);

// At most `bytes_max` bytes from the beginning, ending between two characters.
std::string_view cut(std::string_view text, std::size_t bytes_max);

// Safe to show on a terminal, on one line: control characters, terminal escapes, characters that
// reverse or hide text, and bytes that are no UTF-8 become \n, \t, \x1b, \u202e and the like.
std::string printable(std::string_view text);

// printable, and cut to about 80 bytes; "…" stands for the rest.
std::string shortened(std::string_view text);

}  // namespace keel
