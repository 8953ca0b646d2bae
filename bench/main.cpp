// keel-bench: how fast, how small. Progress goes to stderr; with --json the last line of stdout is
// one JSON object.
#include "bench/bench.h"

int main(int argc, char** argv) {
  CLI::App app{"Measures the parts of Evenkeel on this machine."};
  app.name("keel-bench");
  app.require_subcommand(1);
  keel::bench::Run chosen;
  for (const auto add : {keel::bench::add_launch, keel::bench::add_store}) add(app, chosen);
  CLI11_PARSE(app, argc, argv);
  return chosen();
}
