// keel: the command line.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "apps/keel/interrupt.h"
#include "apps/keel/verbs.h"
#include "apps/keel/words.h"

namespace {

using namespace keel;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where Ctrl-C means something else than to leave at once.
bool takes_interrupts(const cli::Command& command) {
  return command.verb == cli::Verb::run || command.verb == cli::Verb::wait ||
         (command.verb == cli::Verb::logs && command.follow);
}

int obey(const cli::Session& session, const cli::Command& command) {
  std::error_code error;  // without a current directory only absolute paths are found
  const cli::Surroundings surroundings{.directory = std::filesystem::current_path(error),
                                       .path = variable("PATH")};
  switch (command.verb) {
    case cli::Verb::submit: return cli::submit(session, command, surroundings);
    case cli::Verb::run: return cli::run(session, command, surroundings);
    case cli::Verb::jobs: return cli::jobs(session, command);
    case cli::Verb::describe: return cli::describe(session, command);
    case cli::Verb::logs: return cli::logs(session, command);
    case cli::Verb::cancel: return cli::cancel(session, command);
    case cli::Verb::wait: return cli::wait(session, command);
    case cli::Verb::nodes: return cli::nodes(session, command);
    case cli::Verb::events: return cli::events(session, command);
    case cli::Verb::version: break;
  }
  return cli::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
  const auto command = cli::parse_command({argv + 1, argv + argc});
  if (!command) {
    (command.error().code == cli::exit_done ? std::cout : std::cerr) << command.error().text;
    return command.error().code;
  }
  if (command->verb == cli::Verb::version) {
    std::cout << "keel " << KEEL_VERSION << "\n";
    return cli::exit_done;
  }
  const auto target = cli::target_of(command->where, {.socket = variable("KEEL_SOCKET"),
                                                      .token_file = variable("KEEL_TOKEN_FILE"),
                                                      .runtime = variable("XDG_RUNTIME_DIR")});
  if (!target) {
    std::cerr << "keel: " << target.error() << "\n";
    return cli::exit_usage;
  }
  if (takes_interrupts(*command)) cli::count_interrupts();
  UsersClient client(*target);
  const cli::Session session{.client = client,
                             .address = target->address,
                             .out = std::cout,
                             .err = std::cerr,
                             .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                             .err_is_terminal = ::isatty(STDERR_FILENO) == 1};
  const int code = obey(session, *command);
  std::cout.flush();
  if (std::cout.good()) return code;
  std::cerr << "keel: the output could not be written\n";
  return code == cli::exit_done ? cli::exit_error : code;
}
