#include "apps/keel/words.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <utility>

#include "wire/convert.h"
#include "wire/quantity.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

constexpr std::int64_t second_us = 1'000'000;

constexpr std::array<std::pair<std::int64_t, const char*>, 4> units{
    {{86'400, "d"}, {3'600, "h"}, {60, "m"}, {1, "s"}}};

std::string time_text(Instant at, const char* format, bool utc) {
  const std::time_t seconds = at.us / second_us;
  std::tm parts{};
  const bool good = (utc ? gmtime_r(&seconds, &parts) : localtime_r(&seconds, &parts)) != nullptr;
  char text[64];
  if (!good || std::strftime(text, sizeof text, format, &parts) == 0) return "-";
  return text;
}

// The task whose end made the job fail, or null.
const v1::Task* failed_task(const v1::Job& job) {
  const auto first = static_cast<int>(job.first_failed());
  if (!job.has_first_failed() || first >= job.tasks_size()) return nullptr;
  return &job.tasks(first);
}

int code_of_failure(const v1::Job& job) {
  if (job.reason() == print(Reason::time_limit_reached)) return exit_time_limit;
  const v1::Task* task = failed_task(job);
  if (task == nullptr || job.reason() != print(Reason::program_failed)) return exit_platform;
  if (task->exit().kind() == v1::SIGNALED) return exit_signal_base + task->exit().code();
  // A job that failed never gives 0, whatever its task's last word was.
  const bool says_why = task->exit().kind() == v1::EXITED && task->exit().code() != 0;
  return says_why ? task->exit().code() : exit_error;
}

// The end of the escape sequence that begins at text[0] == ESC, or of the C1 form of one.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const char kind = text[1];
  if (kind == '[') {  // CSI: parameters, then one final byte from @ to ~
    std::size_t i = 2;
    while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x3f) ++i;
    return i < text.size() && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : i;
  }
  if (kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_') {
    // OSC and its like: up to BEL or ESC \ .
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b') return i + 1 < text.size() && text[i + 1] == '\\' ? i + 2 : i;
    }
    return text.size();
  }
  std::size_t i = 1;
  while (i < text.size() && text[i] >= 0x20 && text[i] <= 0x2f) ++i;
  return i < text.size() && text[i] >= 0x30 && text[i] <= 0x7e ? i + 1 : i;
}

}  // namespace

int exit_code_of(const v1::Job& job) {
  switch (job.state()) {
    case v1::SUCCEEDED: return exit_done;
    case v1::FAILED: return code_of_failure(job);
    case v1::CANCELED: return exit_canceled;
    default: return exit_platform;
  }
}

bool is_over(v1::JobState state) {
  const auto known = from_pb(state);
  return known && is_terminal(*known);
}

std::string word_of(v1::JobState state) {
  const auto known = from_pb(state);
  return known ? std::string(print(*known)) : std::to_string(static_cast<int>(state));
}

std::string word_of(v1::TaskState state) {
  if (state < v1::TASK_RESERVED || state > v1::TASK_SETTLED) return "-";
  return std::string(print(static_cast<TaskState>(static_cast<int>(state) - 1)));
}

std::string exit_words(const v1::Task& task) {
  if (!task.has_exit() || task.state() < v1::TASK_ENDED) return "";
  const auto exit = from_pb(task.exit());
  return exit ? describe(*exit) : "";
}

std::string age(Duration duration) {
  std::int64_t rest = std::max<std::int64_t>(duration.us, 0) / second_us;
  std::string text;
  int shown = 0;
  for (const auto& [seconds_in, unit] : units) {
    const std::int64_t count = rest / seconds_in;
    rest %= seconds_in;
    if (count == 0 && shown == 0) continue;
    if (count != 0) text += std::to_string(count) + unit;
    if (++shown == 2) break;
  }
  return text.empty() ? "0s" : text;
}

std::string fine_age(Duration duration) {
  if (duration.us >= second_us || duration.us <= 0) return age(duration);
  return std::to_string(std::max<std::int64_t>(duration.us / 1000, 1)) + "ms";
}

std::string about(Bytes bytes) {
  constexpr std::array<std::pair<int, const char*>, 4> sizes{
      {{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}}};
  for (const auto& [shift, unit] : sizes) {
    const std::int64_t whole = bytes.count >> shift;
    if (whole <= 0) continue;
    const std::int64_t rest = bytes.count & ((std::int64_t{1} << shift) - 1);
    const std::int64_t tenth = (rest >> (shift - 10)) * 10 >> 10;
    return std::to_string(whole) + (tenth == 0 ? "" : "." + std::to_string(tenth)) + unit;
  }
  return std::to_string(bytes.count);
}

std::string local_time(Instant at) { return time_text(at, "%Y-%m-%d %H:%M:%S", false); }
std::string local_clock(Instant at) { return time_text(at, "%H:%M:%S", false); }

std::string utc_stamp(Instant at) {
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03dZ", static_cast<int>(at.us / 1000 % 1000));
  return time_text(at, "%Y-%m-%dT%H:%M:%S", true) + milliseconds;
}

std::string fault_line(const FieldError& fault) {
  std::string line;
  if (!fault.field.empty()) line += printable(fault.field) + ": ";
  if (!fault.value.empty()) line += "\"" + printable(fault.value) + "\"; ";
  if (!fault.limit.empty()) line += "allowed: " + printable(fault.limit) + ". ";
  return line + printable(fault.help);
}

std::vector<std::string> fault_lines(const v1::ApiError& error) {
  std::vector<std::string> lines{fault_line({.field = error.field(),
                                             .value = error.value(),
                                             .limit = error.limit(),
                                             .help = error.help()})};
  for (const v1::ApiError& more : error.also()) {
    for (std::string& line : fault_lines(more)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string tamed(std::string_view line) {
  std::string calm;
  while (!line.empty()) {
    if (line[0] == '\x1b') {
      line.remove_prefix(escape_length(line));
      continue;
    }
    const auto character = first_character(line);
    const std::size_t length = character ? character->length : 1;
    const std::string_view one = line.substr(0, length);
    calm += one == "\t" ? std::string(one) : printable(one);
    line.remove_prefix(length);
  }
  return calm;
}

}  // namespace keel::cli
