#include "wire/text.h"

#include <array>

namespace keel {
namespace {

constexpr std::size_t shown_bytes_max = 80;

// The least code that needs 1, 2, 3, 4 bytes: anything lower is an overlong form.
constexpr std::array<char32_t, 5> least_code{0, 0, 0x80, 0x800, 0x10000};

std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

bool hides_or_reverses(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

std::string hex(char32_t code, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += base16[(code >> shift) & 15];
  return text;
}

std::string escape(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  if (code < 0x100) return "\\x" + hex(code, 2);
  if (code < 0x10000) return "\\u" + hex(code, 4);
  return "\\U" + hex(code, 8);
}

}  // namespace

std::optional<Utf8Character> first_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_of(first);
  if (length == 0 || text.size() < length) return std::nullopt;
  if (length == 1) return Utf8Character{first, 1};
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    code = (code << 6) | (next & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least_code[length] || surrogate || code > 0x10ffff) return std::nullopt;
  return Utf8Character{code, length};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto character = first_character(text);
    if (!character) return false;
    text.remove_prefix(character->length);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string good;
  while (!text.empty()) {
    const auto character = first_character(text);
    good += character ? text.substr(0, character->length) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(character ? character->length : 1);
  }
  return good;
}

std::string_view cut(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  // At most three steps: a character has four bytes, and other bytes need no care.
  for (int step = 0; step < 3 && end > 0; ++step) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80) break;
    --end;
  }
  return text.substr(0, end);
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const auto character = first_character(text);
    if (!character) {
      shown += "\\x" + hex(static_cast<unsigned char>(text[0]), 2);
    } else if (hides_or_reverses(character->code)) {
      shown += escape(character->code);
    } else {
      shown += text.substr(0, character->length);
    }
    text.remove_prefix(character ? character->length : 1);
  }
  return shown;
}

std::string shortened(std::string_view text) {
  // What is cut away must not be escaped first: a value may be megabytes long.
  const std::string shown = printable(cut(text, shown_bytes_max));
  const std::string_view kept = cut(shown, shown_bytes_max);
  const bool whole = text.size() <= shown_bytes_max && kept.size() == shown.size();
  return std::string(kept) + (whole ? "" : "…");
}

}  // namespace keel
