#include "flags.h"

#include <charconv>
#include <functional>
#include <limits>
#include <sstream>
#include <system_error>

#include "failure.h"

namespace keel::digits {
namespace {

constexpr double rate_max = 10;
constexpr std::uint64_t ms_max = 600'000;

[[noreturn]] void refuse(const std::string& why) { throw Failure(why, exit_usage); }

double parse_rate(const std::string& name, const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Written so that "nan" is refused.
  if (error != std::errc{} || stop != end || !(value > 0 && value <= rate_max)) {
    refuse(name + " is '" + text + "': it must be a number above 0, at most 10");
  }
  return value;
}

// One row per flag: its name, what it takes ("" for a switch), its help, and what it sets.
struct Row {
  const char* name;
  const char* takes;
  const char* help;
  std::function<void(Flags&, const std::string& value)> set;
};

Row whole(const char* name, const char* help, Limits limits, std::uint64_t Flags::*field) {
  return {name, "N", help, [=](Flags& flags, const std::string& value) {
            flags.*field = parse_whole(name, value, limits);
          }};
}

Row duration(const char* name, const char* help, Limits limits,
             std::chrono::milliseconds Flags::*field) {
  return {name, "N", help, [=](Flags& flags, const std::string& value) {
            flags.*field = std::chrono::milliseconds(
                static_cast<std::int64_t>(parse_whole(name, value, limits)));
          }};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"--data", "FILE", "the digits file (digits.bin)",
       [](Flags& flags, const std::string& value) { flags.dataset_path = value; }},
      whole("--epochs", "passes over the training split (20)", {1, 100'000}, &Flags::epochs),
      whole("--batch", "samples of a step, over all tasks (32)", {1, 65'536}, &Flags::batch),
      {"--lr", "X", "learning rate (0.05)",
       [](Flags& flags, const std::string& value) { flags.rate = parse_rate("--lr", value); }},
      whole("--hidden", "hidden units (48)", {1, 4'096}, &Flags::hidden),
      whole("--seed", "of weights and order (1)", {0, std::numeric_limits<std::uint64_t>::max()},
            &Flags::seed),
      whole("--checkpoint-every", "steps between checkpoints, 0 is never (100)", {0, 1'000'000'000},
            &Flags::checkpoint_every),
      {"--no-all-reduce", "", "keep gradients to oneself, to see that sharing them matters",
       [](Flags& flags, const std::string&) { flags.all_reduce = false; }},
      duration("--pause-ms", "sleep after each epoch, to make a run long (0)", {0, ms_max},
               &Flags::pause),
      duration("--peer-timeout-ms", "silence after which a task counts as lost (8000)",
               {100, ms_max}, &Flags::peer_timeout),
      {"--help", "", "this text", [](Flags& flags, const std::string&) { flags.help = true; }},
  };
  return table;
}

}  // namespace

std::uint64_t parse_whole(const std::string& name, const std::string& text, Limits limits) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < limits.min || value > limits.max) {
    refuse(name + " is '" + text + "': it must be a whole number from " +
           std::to_string(limits.min) + " to " + std::to_string(limits.max));
  }
  return value;
}

Flags parse_flags(const std::vector<std::string>& arguments) {
  Flags flags;
  for (auto it = arguments.begin(); it != arguments.end(); ++it) {
    const std::size_t equals = it->find('=');
    const std::string name = it->substr(0, equals);
    const Row* row = nullptr;
    for (const Row& candidate : rows()) {
      if (name == candidate.name) row = &candidate;
    }
    if (row == nullptr) refuse("there is no flag '" + name + "'; --help lists them");
    std::string value;
    if (*row->takes == '\0') {
      if (equals != std::string::npos) refuse(name + " takes no value");
    } else if (equals != std::string::npos) {
      value = it->substr(equals + 1);
    } else {
      if (std::next(it) == arguments.end()) refuse(name + " needs a value (" + row->takes + ")");
      value = *++it;
    }
    row->set(flags, value);
  }
  return flags;
}

std::string usage() {
  std::ostringstream out;
  out << "digits: trains a small network on handwritten digits, alone or as a gang of tasks.\n\n";
  for (const Row& row : rows()) {
    const std::string left = std::string(row.name) + (*row.takes ? " " : "") + row.takes;
    out << "  " << left << std::string(left.size() < 22 ? 22 - left.size() : 1, ' ') << row.help
        << "\n";
  }
  out << "\nEnvironment: MASTER_ADDR MASTER_PORT WORLD_SIZE RANK LOCAL_RANK NODE_RANK\n"
         "LOCAL_WORLD_SIZE (all absent: one task), KEEL_CHECKPOINT_DIR, KEEL_OUTPUT_DIR.\n"
         "SIGUSR1 saves a checkpoint; SIGTERM saves one and ends with 143.\n";
  return out.str();
}

}  // namespace keel::digits
