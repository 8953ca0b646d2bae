#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "apps/keel/command.h"
#include "apps/keel/words.h"
#include "model/limits.h"
#include "wire/quantity.h"
#include "wire/suggest.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

const std::map<std::string, Format> formats{{"table", Format::table},
                                            {"wide", Format::wide},
                                            {"json", Format::json},
                                            {"yaml", Format::yaml}};

// Options that are fields of the spec: as in a job file, with "-" for "_".
struct SpecOption {
  const char* option;
  const char* field;
  const char* help;
};
constexpr SpecOption spec_options[] = {
    {"--name", "name", "For people; default: the program's name"},
    {"--tasks", "gang.tasks", "Tasks that start together (default 1)"},
    {"--gpus", "gang.gpus_per_task", "GPUs for each task (default 0)"},
    {"--gpu-model", "gang.gpu_model", "Model of the GPUs, as `keel nodes` shows it"},
    {"--cpu", "cpu", "Cores for each task: 4, 0.5, 500m"},
    {"--memory", "memory", "Memory for each task: 16Gi, 512M"},
    {"--time-limit", "time_limit", "Of one attempt: 90s, 2h30m (default 24h)"},
    {"--grace", "grace", "Between the stop signal and the kill (default 30s)"},
    {"--stop-signal", "stop_signal", "TERM (default), INT, USR1, USR2 or HUP"},
    {"--retries", "retries", "How often to start over after the program failed (default 0)"},
    {"--start-deadline", "start_deadline", "Not started by then: expired"},
};

struct Bounds {
  std::uint64_t min{};
  std::uint64_t max{};
};

// A number of the command line's own, with the same words as a field of a job file.
// An unset variable of a script must not undo the promise that a key is.
CLI::Validator something() {
  return {[](const std::string& text) {
            return text.empty() ? "is empty; leave it out, or say something" : "";
          },
          ""};
}

CLI::Validator whole_within(const Bounds& bounds) {
  const auto fault = [bounds](const std::string& text) {
    const auto number = parse_whole(text);
    if (number && *number >= bounds.min && *number <= bounds.max) return std::string();
    return fault_line(
        {.field = "",
         .value = shortened(text),
         .limit = std::to_string(bounds.min) + " to " + std::to_string(bounds.max),
         .help = number ? "The number is out of range." : "Write a whole number, digits only."});
  };
  return {fault, ""};
}

class Parser {
 public:
  Parser() : app_("Runs GPU training jobs on a shared fleet.", "keel") {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.set_help_flag("-h,--help", "Show what there is to say");
    app_.add_option("--socket", command_.where.socket,
                    "Socket of keeld (default: $KEEL_SOCKET, then $XDG_RUNTIME_DIR/keel/keeld.sock "
                    "or /run/keel/keeld.sock)");
    app_.add_option("--server", command_.where.server, "unix:PATH, or HOST:PORT with a token");
    app_.add_option("--token-file", command_.where.token_file,
                    "File with the operator's token (default: $KEEL_TOKEN_FILE)");
    add_submissions();
    add_reading();
    add_control();
  }

  Result<Command, Farewell> parse(const std::vector<std::string>& arguments) {
    // What stands behind the first "--" is the job's, whatever it looks like.
    const auto mark = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string> ours(std::make_reverse_iterator(mark), arguments.rend());
    if (mark != arguments.end()) command_.said.words.assign(mark + 1, arguments.end());
    try {
      app_.parse(ours);  // takes them last first
    } catch (const CLI::CallForHelp&) {
      return Farewell{exit_done, help()};
    } catch (const CLI::ParseError& error) {
      return Farewell{exit_usage, complaint(error, arguments)};
    }
    return check(mark != arguments.end());
  }

 private:
  CLI::App& add(const std::string& name, Verb verb, const std::string& help) {
    CLI::App& sub = *app_.add_subcommand(name, help);
    verbs_[&sub] = verb;
    return sub;
  }

  void add_format(CLI::App& sub) {
    sub.add_option("-o,--output", format_, "table, wide, json or yaml")
        ->check(CLI::IsMember({"table", "wide", "json", "yaml"}))
        ->option_text("FORMAT");
  }

  void add_submissions() {
    CLI::App& submit =
        add("submit", Verb::submit, "Submit a job: -f FILE, or [OPTIONS] -- PROGRAM [ARGUMENTS]");
    CLI::App& run = add("run", Verb::run, "Submit, follow, and exit with the job's exit code");
    add_format(submit);
    for (CLI::App* sub : {&submit, &run}) {
      sub->add_option("-f,--filename", command_.said.file, "Job file in YAML or JSON; - for stdin");
      sub->add_option("--key", command_.said.key,
                      "Your own name for this submission: the same key never makes a second job")
          ->check(something());
      sub->add_option("--env", command_.said.env, "NAME=VALUE, or NAME for the value it has here")
          ->allow_extra_args(false);
      sub->add_option("--label", command_.said.labels, "NAME=VALUE")->allow_extra_args(false);
      sub->add_option("--file", command_.said.files, "A local file to take along")
          ->allow_extra_args(false);
      for (const SpecOption& option : spec_options) {
        const std::string field = option.field;
        sub->add_option_function<std::string>(
            option.option,
            [this, field](const std::string& text) {
              command_.said.fields.emplace_back(field, text);
            },
            option.help);
      }
    }
  }

  void add_reading() {
    CLI::App& jobs = add("jobs", Verb::jobs, "What runs, what waits, and why");
    jobs.add_option("--user", command_.user, "Only this person's");
    jobs.add_option("--state", command_.states, "Only in this state; may be repeated")
        ->allow_extra_args(false);
    jobs.add_option("--limit", command_.limit, "How many, newest first (default 100)")
        ->check(whole_within({.min = 1, .max = 1000}));
    add_format(jobs);
    CLI::App& describe = add("describe", Verb::describe, "One job, in full");
    add_job(describe, 1);
    add_format(describe);
    CLI::App& nodes = add("nodes", Verb::nodes, "The fleet: nodes, their GPUs, and who holds them");
    add_format(nodes);
    CLI::App& events = add("events", Verb::events, "What happened to a job, and when");
    add_job(events, 1);
    add_format(events);
    CLI::App& logs = add("logs", Verb::logs, "What a job's tasks wrote");
    add_job(logs, 1);
    logs.add_flag("-f,--follow", command_.follow, "Go on until the job ends");
    logs.add_flag("--timestamps", command_.timestamps, "With the time of each line, in UTC");
    logs.add_option("--task", command_.task, "Only this task (default: all)")
        ->check(whole_within({.min = 0, .max = limits::tasks_max - 1}));
    logs.add_option("--attempt", command_.attempt, "Only this attempt (default: the last)")
        ->check(whole_within({.min = 1, .max = UINT32_MAX}));
    add("version", Verb::version, "Print the version");
  }

  void add_control() {
    add_job(add("cancel", Verb::cancel, "Cancel jobs, wherever they are"), 1000);
    CLI::App& wait = add("wait", Verb::wait, "Wait until a job ends; exit with its exit code");
    add_job(wait, 1);
    // By functions, because an optional would take "" as not given.
    wait.add_option_function<std::string>(
        "--for", [this](const std::string& text) { command_.until_state = text; },
        "Wait until it has been in this state instead");
    wait.add_option_function<std::string>(
        "--timeout", [this](const std::string& text) { command_.timeout = text; },
        "Give up after this long: 90s, 2h");
  }

  void add_job(CLI::App& sub, int max) {
    sub.add_option("job", command_.jobs, "Id of a job, or \"last\" for your newest")
        ->required()
        ->expected(1, max)
        ->option_text(max == 1 ? "JOB" : "JOB...");
  }

  const CLI::App& chosen() const {
    const auto subs = app_.get_subcommands();
    return subs.empty() ? app_ : *subs.front();
  }

  std::string help() const {
    std::string text = chosen().help("", CLI::AppFormatMode::Normal);
    if (&chosen() != &app_) return text;
    return text +
           "\nExamples:\n"
           "  keel submit --gpus 2 -- ./train --epochs 3\n"
           "  keel run -f job.yaml\n"
           "  keel logs -f last\n";
  }

  std::string complaint(const CLI::ParseError& error, const std::vector<std::string>& arguments) {
    std::string text = printable(error.what());
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
        app_.get_subcommands().empty()) {
      text = "say what to do";
      std::vector<std::string> names;
      for (const auto& [sub, verb] : verbs_) names.push_back(sub->get_name());
      std::sort(names.begin(), names.end());
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        // What stands behind "--socket" is its value.
        if (argument.starts_with("--") && argument.find('=') == std::string::npos) ++i;
        if (argument.starts_with("-")) continue;
        const std::string meant = nearest(argument, names);
        text = "there is no command \"" + shortened(argument) + "\"" +
               (meant.empty() ? "" : "; did you mean \"" + meant + "\"?");
        break;
      }
    }
    return "keel: " + text + "\nTry: keel " +
           (&chosen() == &app_ ? std::string() : chosen().get_name() + " ") + "--help\n";
  }

  Result<Command, Farewell> check(bool has_mark) {
    const auto usage = [](const std::string& text) {
      return Farewell{exit_usage, "keel: " + text + "\n"};
    };
    command_.verb = verbs_.at(&chosen());
    command_.format = formats.at(format_);
    if (!command_.where.socket.empty() && !command_.where.server.empty()) {
      return usage("--socket and --server exclude each other");
    }
    const bool submits = command_.verb == Verb::submit || command_.verb == Verb::run;
    if (!submits && has_mark) return usage("\"--\" belongs to submit and run only");
    if (!submits) return command_;
    if (has_mark && command_.said.words.empty()) return usage("no program stands behind \"--\"");
    if (has_mark == !command_.said.file.empty()) {
      return usage("say what to run: either -f FILE, or \"-- PROGRAM [ARGUMENTS]\"");
    }
    return command_;
  }

  Command command_;
  std::string format_ = "table";
  std::map<const CLI::App*, Verb> verbs_;
  CLI::App app_;
};

}  // namespace

Result<Command, Farewell> parse_command(const std::vector<std::string>& arguments) {
  return Parser().parse(arguments);
}

std::string option_for(std::string_view field) {
  for (const SpecOption& option : spec_options) {
    if (option.field == field) return option.option;
  }
  return {};
}

}  // namespace keel::cli
