// What the command line says, and the exit codes by which scripts hear it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/client/users_client.h"
#include "keel/v1/api.pb.h"
#include "model/units.h"
#include "wire/spec.h"

namespace keel::cli {

// Exit codes. A job's own are those of its first failed task, and 128 + n for signal n.
inline constexpr int exit_done = 0;
inline constexpr int exit_error = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_time_limit = 124;  // as timeout(1) has it: also of `wait --timeout`
inline constexpr int exit_platform = 125;  // not the program's fault: node lost, expired, rejected
inline constexpr int exit_canceled = 130;
inline constexpr int exit_signal_base = 128;

// What a shell would say of a job that has ended; exit_platform for one that has not.
int exit_code_of(const v1::Job& job);

bool is_over(v1::JobState state);
std::string word_of(v1::JobState state);  // "queued"
std::string word_of(v1::TaskState state);

// "exit code 3", in the words of model/job.h; empty for a task that has not ended.
std::string exit_words(const v1::Task& task);

// Two largest units: "3s", "4m12s", "2h5m", "3d4h". Below a second: "0s", with `fine` "350ms".
std::string age(Duration duration);
std::string fine_age(Duration duration);

// Rounded down to a tenth, for people: "23.5Gi", "512Mi", "100".
std::string about(Bytes bytes);

// In the time zone of the person: "2026-01-31 09:15:02".
std::string local_time(Instant at);
std::string local_clock(Instant at);  // "09:15:02"
std::string utc_stamp(Instant at);    // "2026-01-31T08:15:02.123Z"

// "FIELD: "VALUE"; allowed: LIMIT. HELP", one line for each fault.
std::string fault_line(const FieldError& fault);
std::vector<std::string> fault_lines(const v1::ApiError& error);

// A line of a program's output without what would steer the terminal: escape sequences go, other
// control characters but tab are shown as \x07.
std::string tamed(std::string_view line);

}  // namespace keel::cli
