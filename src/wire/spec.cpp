#include "wire/spec.h"

#include "base/check.h"
#include "base/checked.h"
#include "model/limits.h"
#include "wire/quantity.h"
#include "wire/spec_check.h"
#include "wire/text.h"

namespace keel {
namespace {

static_assert(checked_mul(limits::tasks_max, limits::gpus_per_task_max).has_value(),
              "a gang's GPUs are counted in 32 bits");

constexpr Duration time_limit_min = seconds(1);
constexpr Duration start_deadline_min = seconds(1);
constexpr Bytes memory_min = mebibytes(1);
constexpr Millicores cpu_min{1};

struct NumberField {
  std::string_view name;
  NumberBounds bounds;
};
constexpr NumberField number_fields[] = {
    {"gang.tasks", {.min = 1, .max = limits::tasks_max}},
    {"gang.gpus_per_task", {.min = 0, .max = limits::gpus_per_task_max}},
    {"retries", {.min = 0, .max = limits::retries_max}},
};

const NumberField* number_field(std::string_view name) {
  for (const NumberField& field : number_fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::optional<std::uint32_t> check_number(FieldErrors& errors, const std::string& field,
                                          std::int64_t number) {
  const NumberField* known = number_field(field);
  check(known != nullptr, "every number of a spec has its bounds");
  return check_count(errors, field, number, known->bounds);
}

// A duration within its bounds, or nothing after adding an error.
std::optional<Duration> check_duration(FieldErrors& errors, const std::string& field,
                                       const std::string& text, Duration min, Duration max) {
  const auto duration = parse_duration(text);
  const std::string limit = print(min) + " to " + print(max);
  if (!duration) {
    add_error(errors, field, text, limit,
              "Write a duration as whole numbers with units d h m s ms us: \"90s\", \"2h30m\".");
    return std::nullopt;
  }
  if (*duration >= min && *duration <= max) return duration;
  add_error(errors, field, text, limit, "The duration is out of range.");
  return std::nullopt;
}

void read_labels(FieldErrors& errors, const v1::JobSpec& spec, SaidSpec& said) {
  said.labels = sorted(spec.labels());
  if (said.labels.size() > limits::labels_max) {
    add_error(errors, "labels", std::to_string(said.labels.size()) + " labels",
              "at most " + std::to_string(limits::labels_max), "Use fewer labels.");
  }
  for (const auto& [key, value] : said.labels) {
    const std::string field = "labels." + shortened(key);
    const bool good =
        check_text(errors, field, key, {.bytes_min = 1, .bytes_max = limits::label_bytes_max});
    if (good) check_text(errors, field, value, {.bytes_max = limits::label_bytes_max});
  }
}

void read_args(FieldErrors& errors, const v1::JobSpec& spec, SaidSpec& said) {
  if (static_cast<std::size_t>(spec.args_size()) > limits::args_max) {
    add_error(errors, "args", std::to_string(spec.args_size()) + " arguments",
              "at most " + std::to_string(limits::args_max), "Let the program read a file.");
    return;
  }
  for (int i = 0; i < spec.args_size(); ++i) {
    // Linux counts the NUL behind an argument too.
    check_text(errors, "args[" + std::to_string(i) + "]", spec.args(i),
               {.bytes_max = limits::arg_bytes_max - 1});
    said.args.push_back(spec.args(i));
  }
}

bool is_gpu_model(std::string_view model) {
  constexpr std::size_t model_bytes_max = 64;
  if (model.empty() || model.size() > model_bytes_max) return false;
  for (const char c : model) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

void read_said_gang(FieldErrors& errors, const v1::Gang& gang, SaidGang& said) {
  if (gang.has_tasks()) {
    said.tasks = check_number(errors, "gang.tasks", gang.tasks());
  }
  if (gang.has_gpus_per_task()) {
    said.gpus_per_task = check_number(errors, "gang.gpus_per_task", gang.gpus_per_task());
  }
  if (!gang.has_gpu_model()) return;
  said.gpu_model = gang.gpu_model();
  if (!is_gpu_model(gang.gpu_model())) {
    add_error(errors, "gang.gpu_model", gang.gpu_model(), "1 to 64 of a-z 0-9 -",
              "Write the model as `keel nodes` shows it, or leave the field out for any model.");
  }
}

void read_sizes(FieldErrors& errors, const v1::JobSpec& spec, SaidSpec& said) {
  if (spec.has_cpu()) {
    said.cpu_per_task = parse_millicores(spec.cpu());
    const auto& cpu = said.cpu_per_task;
    if (!cpu || *cpu < cpu_min || *cpu > limits::cpu_per_task_max) {
      add_error(errors, "cpu", spec.cpu(),
                print(cpu_min) + " to " + print(limits::cpu_per_task_max),
                "Write cores per task as \"4\", \"0.5\" or \"500m\".");
    }
  }
  if (spec.has_memory()) {
    said.memory_per_task = parse_bytes(spec.memory());
    const auto& memory = said.memory_per_task;
    if (!memory || *memory < memory_min || *memory > limits::memory_per_task_max) {
      add_error(
          errors, "memory", spec.memory(),
          print(memory_min) + " to " + print(limits::memory_per_task_max),
          "Write whole bytes per task with a unit Ki Mi Gi Ti or K M G T: \"16Gi\", \"512M\".");
    }
  }
}

void read_times(FieldErrors& errors, const v1::JobSpec& spec, SaidSpec& said) {
  if (spec.has_time_limit()) {
    said.time_limit = check_duration(errors, "time_limit", spec.time_limit(), time_limit_min,
                                     limits::time_limit_max);
  }
  if (!spec.has_grace()) return;
  said.grace = check_duration(errors, "grace", spec.grace(), Duration{}, limits::grace_max);
  if (said.grace && said.time_limit && *said.grace >= *said.time_limit) {
    add_error(errors, "grace", spec.grace(), "less than the time limit",
              "The grace lies inside the time limit, which is " + print(*said.time_limit) + ".");
  }
}

void read_ends(FieldErrors& errors, const v1::JobSpec& spec, SaidSpec& said) {
  if (spec.has_stop_signal()) {
    said.stop_signal = parse_stop_signal(spec.stop_signal());
    if (!said.stop_signal) {
      add_error(errors, "stop_signal", spec.stop_signal(), "TERM, INT, USR1, USR2 or HUP",
                "It is the signal that asks the job to stop; KILL follows after the grace.");
    }
  }
  if (spec.has_retries()) {
    said.retries = check_number(errors, "retries", spec.retries());
  }
  if (spec.has_start_deadline()) {
    said.start_deadline = check_duration(errors, "start_deadline", spec.start_deadline(),
                                         start_deadline_min, limits::start_deadline_max);
  }
}

}  // namespace

std::string number_limit(std::string_view field) {
  const NumberField* known = number_field(field);
  return known == nullptr ? "" : limit_words(known->bounds);
}

Result<SaidSpec, std::vector<FieldError>> parse_spec(const v1::JobSpec& spec) {
  FieldErrors errors;
  if (spec.ByteSizeLong() > limits::spec_bytes_max) {
    // Alone: the rest of it may be anything.
    add_error(errors, "spec", std::to_string(spec.ByteSizeLong()) + " bytes",
              "at most " + std::to_string(limits::spec_bytes_max) + " bytes",
              "What is large belongs into files.");
    return errors;
  }
  SaidSpec said;
  if (spec.has_name()) {
    check_text(errors, "name", spec.name(), {.bytes_min = 1, .bytes_max = limits::name_bytes_max});
    said.name = spec.name();
  }
  read_labels(errors, spec, said);
  check_program(errors, spec);
  said.program = spec.program();
  read_args(errors, spec, said);
  said.env = sorted(spec.env());
  check_env(errors, said.env);
  said.files = check_files(errors, spec);
  read_said_gang(errors, spec.gang(), said.gang);
  read_sizes(errors, spec, said);
  read_times(errors, spec, said);
  read_ends(errors, spec, said);
  if (!errors.empty()) return errors;
  return said;
}

}  // namespace keel
