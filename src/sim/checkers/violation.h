#pragma once

#include <stdexcept>
#include <string>

namespace keel::sim {

// An invariant of RELIABILITY.md that did not hold, by its name there: "I2".
class Violation : public std::runtime_error {
 public:
  Violation(const std::string& invariant, const std::string& what)
      : std::runtime_error(invariant + ": " + what) {}
};

inline void expect(bool holds, const char* invariant, const std::string& what) {
  if (!holds) throw Violation(invariant, what);
}

}  // namespace keel::sim
