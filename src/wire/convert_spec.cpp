#include "wire/convert.h"
#include "wire/convert_part.h"
#include "wire/path.h"
#include "wire/quantity.h"
#include "wire/text.h"

namespace keel {
namespace {

Result<std::uint32_t, BadBytes> count_from(std::int64_t number, std::string_view field) {
  if (number < 0 || number > UINT32_MAX) {
    return bad(field, std::to_string(number) + " is out of range");
  }
  return static_cast<std::uint32_t>(number);
}

Result<Duration, BadBytes> duration_from(const std::string& text, std::string_view field) {
  const auto duration = parse_duration(text);
  if (!duration) return bad(field, "\"" + shortened(text) + "\" is no duration");
  return *duration;
}

// The first field that a normalised spec must have and this one has not; null when there is none.
const char* missing_field(const pb::JobSpec& sent) {
  if (!sent.has_name()) return "JobSpec.name";
  if (!sent.has_program()) return "JobSpec.program";
  if (!sent.has_gang()) return "JobSpec.gang";
  if (!sent.gang().has_tasks()) return "JobSpec.gang.tasks";
  if (!sent.gang().has_gpus_per_task()) return "JobSpec.gang.gpus_per_task";
  if (!sent.gang().has_gpu_model()) return "JobSpec.gang.gpu_model";
  if (!sent.has_time_limit()) return "JobSpec.time_limit";
  if (!sent.has_grace()) return "JobSpec.grace";
  if (!sent.has_stop_signal()) return "JobSpec.stop_signal";
  if (!sent.has_retries()) return "JobSpec.retries";
  return nullptr;
}

Result<TakenFile, BadBytes> file_from(const pb::TakenFile& sent) {
  // Every host that unpacks a job relies on this, so it is checked again wherever a spec arrives.
  if (!is_inside_path(sent.path())) {
    return bad("JobSpec.files.path", "\"" + shortened(sent.path()) + "\" leads outside");
  }
  const auto digest = parse_digest(sent.digest());
  if (!digest) return bad("JobSpec.files.digest", "no SHA-256 digest");
  return TakenFile{.path = sent.path(), .digest = *digest, .executable = sent.executable()};
}

Result<Done, BadBytes> read_gang(const pb::Gang& sent, Gang& gang) {
  TRY(tasks, count_from(sent.tasks(), "JobSpec.gang.tasks"));
  TRY(gpus, count_from(sent.gpus_per_task(), "JobSpec.gang.gpus_per_task"));
  gang = Gang{.tasks = tasks, .gpus_per_task = gpus, .gpu_model = sent.gpu_model()};
  return Done{};
}

Result<Done, BadBytes> read_quantities(const pb::JobSpec& sent, JobSpec& spec) {
  if (sent.has_cpu()) {
    spec.cpu_per_task = parse_millicores(sent.cpu());
    if (!spec.cpu_per_task) return bad("JobSpec.cpu", "\"" + shortened(sent.cpu()) + "\"");
  }
  if (sent.has_memory()) {
    spec.memory_per_task = parse_bytes(sent.memory());
    if (!spec.memory_per_task) return bad("JobSpec.memory", "\"" + shortened(sent.memory()) + "\"");
  }
  TRY(time_limit, duration_from(sent.time_limit(), "JobSpec.time_limit"));
  TRY(grace, duration_from(sent.grace(), "JobSpec.grace"));
  spec.time_limit = time_limit;
  spec.grace = grace;
  if (sent.has_start_deadline()) {
    TRY(deadline, duration_from(sent.start_deadline(), "JobSpec.start_deadline"));
    spec.start_deadline = deadline;
  }
  return Done{};
}

}  // namespace

pb::JobSpec to_pb(const JobSpec& spec) {
  pb::JobSpec sent;
  sent.set_name(spec.name);
  sent.mutable_labels()->insert(spec.labels.begin(), spec.labels.end());
  sent.set_program(spec.program);
  for (const std::string& arg : spec.args) sent.add_args(arg);
  sent.mutable_env()->insert(spec.env.begin(), spec.env.end());
  for (const TakenFile& file : spec.files) {
    pb::TakenFile& next = *sent.add_files();
    next.set_path(file.path);
    next.set_digest(print(file.digest));
    next.set_executable(file.executable);
  }
  sent.mutable_gang()->set_tasks(spec.gang.tasks);
  sent.mutable_gang()->set_gpus_per_task(spec.gang.gpus_per_task);
  sent.mutable_gang()->set_gpu_model(spec.gang.gpu_model);
  if (spec.cpu_per_task) sent.set_cpu(print(*spec.cpu_per_task));
  if (spec.memory_per_task) sent.set_memory(print(*spec.memory_per_task));
  sent.set_time_limit(print(spec.time_limit));
  sent.set_grace(print(spec.grace));
  sent.set_stop_signal(print_stop_signal(spec.stop_signal));
  sent.set_retries(spec.retries);
  if (spec.start_deadline) sent.set_start_deadline(print(*spec.start_deadline));
  return sent;
}

Result<JobSpec, BadBytes> normalised_from_pb(const pb::JobSpec& sent) {
  if (const char* missing = missing_field(sent)) return bad(missing, "missing");
  JobSpec spec;
  spec.name = sent.name();
  spec.labels.insert(sent.labels().begin(), sent.labels().end());
  spec.program = sent.program();
  spec.args.assign(sent.args().begin(), sent.args().end());
  spec.env.insert(sent.env().begin(), sent.env().end());
  for (const pb::TakenFile& file : sent.files()) {
    TRY(ours, file_from(file));
    spec.files.push_back(std::move(ours));
  }
  TRY(gang, read_gang(sent.gang(), spec.gang));
  TRY(quantities, read_quantities(sent, spec));
  const auto signal = parse_stop_signal(sent.stop_signal());
  if (!signal) return bad("JobSpec.stop_signal", "\"" + shortened(sent.stop_signal()) + "\"");
  spec.stop_signal = *signal;
  TRY(retries, count_from(sent.retries(), "JobSpec.retries"));
  spec.retries = retries;
  return spec;
}

}  // namespace keel
