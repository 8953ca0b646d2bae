// For tests: the real program as a child process, with its output in a file and a limit on every
// wait.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace keel::digits {

using Variables = std::map<std::string, std::string>;

// A folder that is gone with its owner.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A TCP port on the loopback that nobody else is given while this lives: it is bound, but does not
// listen, so a program that asks for the address again with SO_REUSEADDR may listen there.
class HeldPort {
 public:
  HeldPort();
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int fd_;
  std::uint16_t number_ = 0;
};

struct Command {
  std::vector<std::string> arguments;  // Behind --data FILE.
  Variables variables = {};            // Added to ours, less what the program itself reads.
};

class Child {
 public:
  // Starts DIGITS_PROGRAM; its output and errors go to the file at `log`.
  Child(const Command& command, const std::string& log);
  ~Child();  // Kills it, if it still runs.
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  void signal(int number) const;

  // The exit code, 128 + number where a signal ended it, or nothing where it still runs at the
  // limit.
  std::optional<int> wait(std::chrono::milliseconds limit);

  // Whether `text` appears in the output before the limit.
  [[nodiscard]] bool says(const std::string& text, std::chrono::milliseconds limit) const;

  [[nodiscard]] std::string output() const;

 private:
  pid_t pid_;
  std::string log_;
  std::optional<int> code_;
};

std::string contents(const std::string& path);

}  // namespace keel::digits
