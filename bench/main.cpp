// keel-bench: how fast, how small. Progress goes to stderr; with --json the last line of stdout is
// one JSON object.
#include "apps/command_line.h"
#include "bench/bench.h"

int main(int argc, char** argv) {
  CLI::App app{"Measures the parts of Evenkeel on this machine."};
  app.name("keel-bench");
  app.require_subcommand(1);
  keel::bench::Run chosen;
  using namespace keel::bench;
  for (const auto add : {add_launch, add_select, add_store}) add(app, chosen);
  if (const auto code = keel::read_command_line(app, argc, argv)) return *code;
  return chosen();
}
