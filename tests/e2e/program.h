// Programs that a test starts, stops, kills and freezes; and who is alive on this host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace keel::e2e {

class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // kills it

  // In a session of its own; what it writes is appended to `log`. `env` (NAME=value) is added to
  // this process's own environment.
  void start(const std::vector<std::string>& command, const std::string& log,
             const std::vector<std::string>& env = {});

  bool is_running();
  pid_t pid() const { return pid_; }  // 0: not started, or reaped
  void kill9();
  void freeze() const;
  void thaw() const;

  // Asks it to end. Throws where it does not.
  int terminate();

  // Its exit code, or 128 and the signal that ended it. Throws where it does not end.
  int await_end();

 private:
  bool reap(bool block);

  pid_t pid_{};
  int status_{};
};

struct Ran {
  int code{};
  std::string output;  // stdout and stderr
};

// Runs a program to its end, with `log` as its output.
Ran run(const std::vector<std::string>& command, const std::string& log);

// The processes, but for this one, that have `word` in their arguments or environment. Takes root
// for those of others.
std::vector<pid_t> living(const std::string& word);

std::string contents(const std::string& path);
std::vector<std::string> lines_of(const std::string& path);

}  // namespace keel::e2e
