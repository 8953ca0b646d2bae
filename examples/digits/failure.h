// How this program gives up: a message for people, and the exit code that goes with it.
#pragma once

#include <stdexcept>
#include <string>

namespace keel::digits {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_stopped = 143;  // 128 + SIGTERM, as a shell would report it.

// Thrown anywhere, caught in main() only.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& why, int exit_code = exit_failure)
      : std::runtime_error(why), exit_code_(exit_code) {}

  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

// Another task of the gang is gone or silent. The weights are still those of the last whole step.
class PeerLost : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace keel::digits
