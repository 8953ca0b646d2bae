// What keel-agent is told on its command line.
#pragma once

#include <string>

#include "base/result.h"
#include "model/units.h"

namespace keel {

struct AgentOptions {
  std::string server{};                // "unix:PATH" or a loopback address
  std::string token_file{};            // of the operator token, for a loopback address
  std::string state{};                 // directory: claims, tasks, outputs
  std::string name{};                  // of this node
  std::string address{};               // where the tasks of a gang reach this host
  std::string devices{};               // "nvml", "none" or "emulated:8xH100-80GB"
  std::string shim{};                  // the program keel-shim
  std::string nvml_program{};          // the program keel-nvml
  std::string nvml_library{};          // as dlopen() takes it
  Duration nvml_every{};               // between two looks at all GPUs
  Duration nvml_deadline{};            // for one call
  std::string xid_catalogue{};         // a file, or empty: the built-in one
  Bytes disk_wanted = mebibytes(512);  // with less free, nothing new begins here
  std::uint64_t logs_kept = 1000;      // of so many tasks that are over, at most
  Bytes logs_bytes = gibibytes(16);    // of all these together
  Duration logs_for = hours(24 * 7);   // after their tasks' ends
};

// The options, or the exit code with which to end: help was asked for, or something was wrong and
// has been said.
Result<AgentOptions, int> parse_agent_options(int argc, char** argv);

}  // namespace keel
