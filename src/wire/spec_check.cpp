#include "wire/spec_check.h"

#include "wire/text.h"

namespace keel {

void add_error(FieldErrors& errors, std::string field, std::string_view value, std::string limit,
               std::string help) {
  errors.push_back(FieldError{.field = std::move(field),
                              .value = shortened(value),
                              .limit = std::move(limit),
                              .help = std::move(help)});
}

bool check_text(FieldErrors& errors, const std::string& field, std::string_view text,
                const TextBounds& bounds) {
  if (text.size() < bounds.bytes_min) {
    add_error(errors, field, text, "not empty", "Give it a value, or leave the field out.");
    return false;
  }
  if (text.size() > bounds.bytes_max) {
    add_error(errors, field, text, "at most " + std::to_string(bounds.bytes_max) + " bytes",
              "It has " + std::to_string(text.size()) + " bytes.");
    return false;
  }
  if (!is_utf8(text) || text.find('\0') != text.npos) {
    add_error(errors, field, text, "UTF-8 text without NUL", "Other bytes belong into a file.");
    return false;
  }
  return true;
}

std::string limit_words(const NumberBounds& bounds) {
  return std::to_string(bounds.min) + " to " + std::to_string(bounds.max);
}

std::optional<std::uint32_t> check_count(FieldErrors& errors, const std::string& field,
                                         std::int64_t number, const NumberBounds& bounds) {
  if (number >= bounds.min && number <= bounds.max) return static_cast<std::uint32_t>(number);
  add_error(errors, field, std::to_string(number), limit_words(bounds),
            "The number is out of range.");
  return std::nullopt;
}

std::map<std::string, std::string> sorted(
    const google::protobuf::Map<std::string, std::string>& map) {
  return {map.begin(), map.end()};
}

}  // namespace keel
