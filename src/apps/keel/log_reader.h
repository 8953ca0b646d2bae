// The output of all tasks of one attempt, as one stream of lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/keel/session.h"
#include "keel/v1/api.pb.h"

namespace keel::cli {

// Writes lines as they belong on a terminal or into a file.
class LineWriter {
 public:
  struct Options {
    bool timestamps{};
    bool prefix{};  // "[3] " in front, where a job has several tasks
  };
  LineWriter(const Session& session, Options options) : session_(session), options_(options) {}

  void write(std::uint32_t task, const v1::LogLine& line);
  void note(const std::string& words);  // a line of our own, to err
  void flush();

 private:
  void end_open_line();

  const Session& session_;
  Options options_;
  // The line that is not finished yet: whose it is, and where it stands.
  struct Open {
    std::uint32_t task{};
    bool error{};
    friend bool operator==(const Open&, const Open&) = default;
  };
  std::optional<Open> open_;
};

class LogReader {
 public:
  LogReader(UsersClient& client, std::string job, std::uint32_t attempt,
            const std::vector<std::uint32_t>& tasks);

  // From now on only what each task has written until it is read for the first time: a task that
  // never stops writing has an end as well.
  void stop_at_present() { is_bounded_ = true; }

  // Reads what there is of each task, once, and writes it in the order of time; waits up to
  // `wait_ms` where there is only one task. After an error it may be asked again: no line is lost
  // and none comes twice, and a task whose log will never be had is left out.
  struct Part {
    bool any{};  // something was written
  };
  Result<Part, ClientError> read(LineWriter& writer, int wait_ms);

  // Nothing more will come of any task.
  bool ended() const;

 private:
  struct Source {
    std::uint32_t task{};
    std::int64_t offset{};
    bool end{};
    std::int64_t until{};  // where bounded: what was there when it was first asked for
    int gaps{};            // between the lines that were read; only the first is told where it is
    bool in_gap{};         // nothing was read since the last one
  };
  static void count_gap(Source& source, const v1::ReadLogResponse& part, LineWriter& writer);

  UsersClient& client_;
  std::string job_;
  std::uint32_t attempt_{};
  std::vector<Source> sources_;
  bool is_bounded_{};
};

}  // namespace keel::cli
