// Checks of single values of a spec, each adding what is wrong to a list. Shared by spec.cpp and
// spec_taken.cpp.
#pragma once

#include <google/protobuf/map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/v1/spec.pb.h"
#include "model/spec.h"
#include "wire/spec.h"

namespace keel {

using FieldErrors = std::vector<FieldError>;

void add_error(FieldErrors& errors, std::string field, std::string_view value, std::string limit,
               std::string help);

// How long a text may be, and whether it may be empty.
struct TextBounds {
  std::size_t bytes_min{};
  std::size_t bytes_max{};
};

// UTF-8, no NUL, within the bounds. False after adding an error.
bool check_text(FieldErrors& errors, const std::string& field, std::string_view text,
                const TextBounds& bounds);

struct NumberBounds {
  std::int64_t min{};
  std::int64_t max{};
};

std::string limit_words(const NumberBounds& bounds);  // "0 to 1024"

// The number, or nothing after adding an error.
std::optional<std::uint32_t> check_count(FieldErrors& errors, const std::string& field,
                                         std::int64_t number, const NumberBounds& bounds);

// In the order of their keys, whatever order protobuf's map happens to have.
std::map<std::string, std::string> sorted(
    const google::protobuf::Map<std::string, std::string>& map);

void check_env(FieldErrors& errors, const std::map<std::string, std::string>& env);
std::vector<TakenFile> check_files(FieldErrors& errors, const v1::JobSpec& spec);

// What "./x" names must be among the files.
void check_program(FieldErrors& errors, const v1::JobSpec& spec);

}  // namespace keel
