// What was typed, taken apart and not yet judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace keel::cli {

enum class Verb : std::uint8_t {
  submit,
  run,
  jobs,
  describe,
  logs,
  cancel,
  wait,
  nodes,
  events,
  version,
};

enum class Format : std::uint8_t { table, wide, json, yaml };

// How to reach the control plane; each empty where it was not said.
struct Where {
  std::string socket{};      // --socket
  std::string server{};      // --server: "unix:PATH" or "HOST:PORT"
  std::string token_file{};  // --token-file
};

// Of submit and run. Values are judged where job files are, so that both give the same errors.
struct Said {
  std::string file{};                                         // -f; "-" is stdin
  std::vector<std::pair<std::string, std::string>> fields{};  // path in the spec, text: --tasks, …
  std::vector<std::string> env{};                             // NAME=VALUE, or NAME for ours
  std::vector<std::string> labels{};                          // NAME=VALUE
  std::vector<std::string> files{};                           // to take along
  std::vector<std::string> words{};                           // program and arguments, behind --
  std::string key{};
};

struct Command {
  Verb verb{};
  Where where{};
  Format format{};
  std::vector<std::string> jobs{};           // ids, or "last"
  Said said{};                               // submit, run
  std::string user{};                        // jobs
  std::vector<std::string> states{};         // jobs
  std::int32_t limit{};                      // jobs; 0: the server's default
  bool follow{};                             // logs
  bool timestamps{};                         // logs
  std::optional<std::uint32_t> task{};       // logs
  std::optional<std::uint32_t> attempt{};    // logs
  std::optional<std::string> until_state{};  // wait
  std::optional<std::string> timeout{};      // wait
};

// Ends the program: help was asked for, or what was typed is wrong.
struct Farewell {
  int code{};
  std::string text{};  // for stdout where the code is 0, else for stderr
};

// `arguments` without the program's name.
Result<Command, Farewell> parse_command(const std::vector<std::string>& arguments);

// The option that says this field of the spec: "--gpus" for "gang.gpus_per_task"; empty: none does.
std::string option_for(std::string_view field);

}  // namespace keel::cli
