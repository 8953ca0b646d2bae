// What keeld is told on its command line.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/policy.h"
#include "ports/store.h"

namespace keel {

struct KeeldOptions {
  std::string data;          // directory: store, files, operator token
  std::string socket;        // the local door
  std::string http;          // loopback TCP address; empty: none
  std::string address_file;  // where the chosen TCP address is written; empty: nowhere
  std::string token_user;  // whose the jobs submitted with the operator token are; empty: see main
  bool restored{};         // only say that DATA was put back from an older copy
  Policy policy;
  Retention retention;
};

// The options, or the exit code with which to end: help was asked for, or something was wrong and
// has been said.
Result<KeeldOptions, int> parse_keeld_options(int argc, char** argv);

}  // namespace keel
