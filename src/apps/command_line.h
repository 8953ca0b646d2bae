// Command lines of our programs: what is wrong in one is told on one line that names the option,
// the value and what it may be, whatever bytes are in it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "model/units.h"
#include "wire/quantity.h"

namespace keel {

// Reads the line. The exit code where there is nothing more to do: 2 where it makes no sense, 0
// after --help.
std::optional<int> read_command_line(CLI::App& app, int argc, char** argv);

// Reads one option by `parse` (wire/quantity.h); `example` is a text that it takes.
template <class Quantity, class Parse>
CLI::Option* add_quantity(CLI::App& app, const std::string& name, Quantity& value, Parse parse,
                          const std::string& example, const std::string& what) {
  const auto read = [&value, name, parse, example](const std::string& text) {
    const auto quantity = parse(text);
    if (!quantity) throw CLI::ValidationError(name, "'" + text + "' should look like " + example);
    value = *quantity;
  };
  return app.add_option_function<std::string>(name, read, what)->type_name("QUANTITY");
}

// A duration from `least` to `most`; as it stands, `value` is the default.
CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& value, Duration least,
                          Duration most, const std::string& what);

// A whole number from `least` to `most`, in digits only; likewise.
CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& what);

}  // namespace keel
