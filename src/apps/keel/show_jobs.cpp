#include <algorithm>
#include <set>

#include "apps/keel/show.h"
#include "apps/keel/table.h"
#include "apps/keel/words.h"
#include "model/reason.h"
#include "wire/quantity.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

constexpr std::size_t nodes_named_max = 2;
constexpr std::string_view emulated_prefix = "emulated:";
constexpr std::size_t label_width = 13;
constexpr std::size_t digest_digits_shown = 12;
constexpr std::size_t uuid_shown = 12;  // "GPU-03ead8bd"

std::string reason_word(const v1::Job& job) {
  return job.reason() == print(Reason::none) ? "" : job.reason();
}

// The nodes it is on, or was on last, each once.
std::string nodes_of(const v1::Job& job) {
  std::set<std::string> names;
  for (const v1::Task& task : job.tasks()) names.insert(task.node());
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == nodes_named_max) break;
    text += (text.empty() ? "" : ",") + name;
  }
  const std::size_t more = names.size() - std::min(names.size(), nodes_named_max);
  return text + (more == 0 ? "" : ",+" + std::to_string(more));
}

std::string gpus_of(const v1::Shape& shape) {
  return std::to_string(std::uint64_t{shape.tasks()} * shape.gpus_per_task());
}

std::string model_of(const v1::JobView& view) {
  for (const std::string& model : view.gpu_models()) {
    if (!model.empty()) return model_words(model);
  }
  return view.job().shape().gpu_model();
}

std::string moment(std::int64_t at_us, const Look& look) {
  const Instant at{at_us};
  return local_time(at) + " (" + age(look.now - at) + " ago)";
}

std::string joined(const google::protobuf::Map<std::string, std::string>& map) {
  std::string text;
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  for (const auto& [name, value] : sorted) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::string gang_words(const v1::JobView& view) {
  const v1::Shape& shape = view.job().shape();
  std::string text = std::to_string(shape.tasks()) + (shape.tasks() == 1 ? " task" : " tasks");
  if (shape.gpus_per_task() == 0) return text + " without GPUs";
  text += " x " + std::to_string(shape.gpus_per_task());
  text += shape.gpus_per_task() == 1 ? " GPU" : " GPUs";
  return text + ", " + (shape.gpu_model().empty() ? "any one model" : shape.gpu_model());
}

std::string command_words(const v1::JobSpec& spec) {
  std::string text = spec.program();
  for (const std::string& arg : spec.args()) {
    const bool plain = !arg.empty() && arg.find_first_of(" \t\n\"'\\$`") == arg.npos;
    text += plain ? " " + arg : " \"" + arg + "\"";
  }
  return text;
}

class Lines {
 public:
  void add(std::string_view label, std::string_view value) {
    if (value.empty()) return;
    std::string line(label);
    line.resize(std::max(label_width, line.size() + 1), ' ');
    text_ += line + printable(value) + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_state(Lines& lines, const v1::JobView& view, const Look& look) {
  const v1::Job& job = view.job();
  const Instant since{job.since_us()};
  lines.add("State", word_of(job.state()) + " since " + local_time(since) + " (" +
                         age(look.now - since) + ")");
  const std::string reason = reason_word(job);
  if (!reason.empty()) lines.add("Reason", reason + ": " + view.reason_text());
  if (job.not_before_us() > look.now.us) {
    lines.add("Next try", "in " + age(Instant{job.not_before_us()} - look.now));
  }
  if (job.has_first_failed() && static_cast<int>(job.first_failed()) < job.tasks_size()) {
    const auto first = static_cast<int>(job.first_failed());
    lines.add("Failed", "task " + std::to_string(first) + ": " + exit_words(job.tasks(first)));
  }
}

void add_spec(Lines& lines, const v1::JobView& view) {
  const v1::JobSpec& spec = view.spec();
  lines.add("Program", command_words(spec));
  lines.add("Gang", gang_words(view));
  if (spec.has_cpu()) lines.add("CPU", spec.cpu() + " a task");
  if (spec.has_memory()) lines.add("Memory", spec.memory() + " a task");
  lines.add("Time limit", spec.time_limit() + ", of which " + spec.grace() + " between " +
                              spec.stop_signal() + " and KILL");
  if (spec.has_start_deadline()) lines.add("Deadline", spec.start_deadline() + " after submission");
  lines.add("Labels", joined(spec.labels()));
  lines.add("Environment", joined(spec.env()));
  for (const v1::TakenFile& file : spec.files()) {
    lines.add("File", file.path() + (file.executable() ? " (executable, " : " (") + "sha256 " +
                          file.digest().substr(0, digest_digits_shown) + "…)");
  }
}

// The failures that were answered with a new attempt: the last one of a failed job is none of them.
std::string retry_words(const v1::Job& job) {
  std::string text;
  if (job.retries() != 0 || job.user_failures() != 0) {
    text = std::to_string(job.user_failures()) + " of " + std::to_string(job.retries()) +
           " after the program failed";
  }
  if (job.infrastructure_failures() == 0) return text;
  return text + (text.empty() ? "" : ", ") + std::to_string(job.infrastructure_failures()) +
         " after the platform failed";
}

// Whole uuids make a line of kilobytes; their beginning tells devices of one node apart.
std::string devices_of(const v1::Task& task, const Look& look) {
  std::string text;
  for (const std::string& uuid : task.devices()) {
    text += (text.empty() ? "" : ",") + (look.wide ? uuid : uuid.substr(0, uuid_shown));
  }
  return text;
}

std::string task_table(const v1::JobView& view, const Look& look) {
  const v1::Job& job = view.job();
  Table table({"TASK", "STATE", "NODE", "GPUS", "MODEL", "RAN", "END"});
  for (int i = 0; i < job.tasks_size(); ++i) {
    const v1::Task& task = job.tasks(i);
    const bool ended = task.state() >= v1::TASK_ENDED;
    const Instant until = ended ? Instant{task.ended_us()} : look.now;
    const std::string ran = task.started_us() == 0 ? "" : age(until - Instant{task.started_us()});
    const std::string model = i < view.gpu_models_size() ? model_words(view.gpu_models(i)) : "";
    table.add({std::to_string(i), word_of(task.state()), task.node(),
               or_dash(devices_of(task, look)), or_dash(model), or_dash(ran),
               or_dash(exit_words(task))});
  }
  return table.print("  ");
}

}  // namespace

std::string model_words(std::string_view model) {
  if (!model.starts_with(emulated_prefix)) return std::string(model);
  return std::string(model.substr(emulated_prefix.size())) + " (emulated)";
}

std::string show_jobs(const v1::ListJobsResponse& jobs, const Look& look) {
  std::vector<std::string> head{"JOB",   "NAME", "USER", "STATE", "REASON",
                                "TASKS", "GPUS", "AGE",  "NODES"};
  if (look.wide) head.insert(head.end(), {"MODEL", "ATTEMPT", "IN STATE", "LIMIT", "KEY"});
  Table table(head);
  for (const v1::JobView& view : jobs.jobs()) {
    const v1::Job& job = view.job();
    std::vector<std::string> row{job.id(),
                                 or_dash(view.spec().name()),
                                 job.owner().user(),
                                 word_of(job.state()),
                                 or_dash(reason_word(job)),
                                 std::to_string(job.shape().tasks()),
                                 gpus_of(job.shape()),
                                 age(look.now - Instant{job.submitted_us()}),
                                 or_dash(nodes_of(job))};
    if (look.wide) {
      row.insert(row.end(), {or_dash(model_of(view)), std::to_string(job.attempt()),
                             age(look.now - Instant{job.since_us()}),
                             print(Duration{job.time_limit_us()}), or_dash(job.key())});
    }
    table.add(row);
  }
  return table.print();
}

std::string show_job(const v1::JobView& view, const Look& look) {
  const v1::Job& job = view.job();
  Lines lines;
  lines.add("Job", job.id());
  lines.add("Name", view.spec().name());
  lines.add("Owner", job.owner().user() + " (uid " + std::to_string(job.owner().uid()) + ")");
  add_state(lines, view, look);
  lines.add("Submitted", moment(job.submitted_us(), look));
  lines.add("Key", job.key());
  add_spec(lines, view);
  lines.add("Attempt", job.attempt() == 0 ? "none yet" : std::to_string(job.attempt()));
  lines.add("Retries", retry_words(job));
  std::string text = lines.take();
  if (job.tasks_size() != 0) text += "Tasks\n" + task_table(view, look);
  return text;
}

}  // namespace keel::cli
