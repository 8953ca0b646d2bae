#include "apps/command_line.h"

#include <iostream>

#include "wire/text.h"

namespace keel {

std::optional<int> read_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << app.get_name() << ": " << printable(error.what()) << "\n";
    return 2;
  }
  return std::nullopt;
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, Duration& value, Duration least,
                          Duration most, const std::string& what) {
  const auto read = [&value, name, least, most](const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration || *duration < least || *duration > most) {
      throw CLI::ValidationError(
          name, "'" + text + "' is no duration from " + print(least) + " to " + print(most));
    }
    value = *duration;
  };
  const std::string by_default = " (default " + print(value) + ")";
  return app.add_option_function<std::string>(name, read, what + by_default)->type_name("DURATION");
}

CLI::Option* add_whole(CLI::App& app, const std::string& name, std::uint64_t& value,
                       std::uint64_t least, std::uint64_t most, const std::string& what) {
  const auto read = [&value, name, least, most](const std::string& text) {
    const auto number = parse_whole(text);
    if (!number || *number < least || *number > most) {
      throw CLI::ValidationError(name, "'" + text + "' is no whole number from " +
                                           std::to_string(least) + " to " + std::to_string(most));
    }
    value = *number;
  };
  const std::string by_default = " (default " + std::to_string(value) + ")";
  return app.add_option_function<std::string>(name, read, what + by_default)->type_name("N");
}

}  // namespace keel
