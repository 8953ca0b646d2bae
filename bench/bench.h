// The measurements of keel-bench: each adds its subcommand, with its options, to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace keel::bench {

// What a subcommand does once the whole line is understood. Gives the exit code.
using Run = std::function<int()>;

// Adds the subcommand; `chosen` is set where the line names it.
void add_launch(CLI::App& app, Run& chosen);
void add_select(CLI::App& app, Run& chosen);
void add_store(CLI::App& app, Run& chosen);

}  // namespace keel::bench
