// Clears away what a test left, also where the test itself is killed: a process of its own, which
// waits for the test's end.
#pragma once

#include <string>

namespace keel::e2e {

// What belongs to one platform.
struct Place {
  std::string directory;  // named in the arguments or environment of all its processes
  std::string node;       // the beginning of its nodes' names, and so of their control groups
};

class Caretaker {
 public:
  explicit Caretaker(const Place& place);
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;
  ~Caretaker();  // returns when all is gone

 private:
  int test_lives_{-1};
  int work_done_{-1};
};

}  // namespace keel::e2e
