// The command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace keel::digits {

struct Flags {
  std::string dataset_path = "digits.bin";
  std::uint64_t epochs = 20;
  std::uint64_t batch = 32;  // Of the whole gang.
  double rate = 0.05;
  std::uint64_t hidden = 48;
  std::uint64_t seed = 1;
  std::uint64_t checkpoint_every = 100;  // Steps; 0 is never.
  std::chrono::milliseconds pause{0};    // After each epoch.
  std::chrono::milliseconds peer_timeout{8000};
  bool all_reduce = true;
  bool help = false;
};

// Throws Failure with exit_usage; its text names the flag, the value and the limit.
Flags parse_flags(const std::vector<std::string>& arguments);

// What --help prints.
std::string usage();

// A whole number in [min, max], or Failure with exit_usage that says "<name> is '<text>': ...".
struct Limits {
  std::uint64_t min;
  std::uint64_t max;
};
std::uint64_t parse_whole(const std::string& name, const std::string& text, Limits limits);

}  // namespace keel::digits
