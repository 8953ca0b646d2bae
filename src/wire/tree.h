// A job file or request body as a plain tree, and its way into a protobuf message. YAML and JSON
// make the same tree, so they accept the same files and give the same errors.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/spec.h"

namespace keel {

struct Tree {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind{};
  bool quoted{};                                        // scalar: written in quotes, hence text
  std::string text{};                                   // scalar
  std::vector<Tree> items{};                            // list
  std::vector<std::pair<std::string, Tree>> members{};  // map, in written order
  int line{};                                           // 1-based; 0 where the format gives none
};

// Bounded: at most limits::spec_bytes_max bytes, 10,000 nodes, 32 levels; UTF-8 only; a key stands
// once; no YAML aliases, tags or merge keys. Errors name line and what is allowed.
Result<Tree, std::vector<FieldError>> parse_yaml(std::string_view text);
Result<Tree, std::vector<FieldError>> parse_json(std::string_view text);

// Fills `message`, whose fields decide the types: unknown fields are refused with the nearest known
// one as suggestion, text where a number is due is refused, and so on. Gives all faults at once.
Result<Done, std::vector<FieldError>> fill(google::protobuf::Message& message, const Tree& tree);

// The other way, for `-o yaml` and `-o json`: fields in declared order, enum values as lower-case
// words, digests in hex, 64-bit numbers as numbers. Fields with presence only where they are set,
// all others always, so that an empty list is seen to be one. Ends with a line break.
std::string print_yaml(const google::protobuf::Message& message);
std::string print_json(const google::protobuf::Message& message);

}  // namespace keel
