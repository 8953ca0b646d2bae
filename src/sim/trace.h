// What happened, for people and as a digest: two runs of one seed must give the same.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "model/units.h"

namespace keel::sim {

class Trace {
 public:
  explicit Trace(std::ostream* out = nullptr) : out_(out) {}

  void say(Instant at, std::string_view who, std::string_view what);
  bool is_told() const { return out_ != nullptr; }
  std::uint64_t digest() const { return digest_; }

 private:
  void add(std::string_view text);

  std::ostream* out_;
  std::uint64_t digest_ = 14695981039346656037U;  // FNV-1a
};

}  // namespace keel::sim
