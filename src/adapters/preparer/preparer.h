// Makes tasks ready aside from the agent's own thread: fetches the files that travel with a job,
// then has the runtime lay everything out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ports/runtime.h"
#include "ports/server.h"

namespace keel {

class Preparer final : public Preparations {
 public:
  struct Parts {
    // Brings a file to this host, unless it is there. Called on the preparer's threads.
    std::function<Result<Done, std::string>(const Digest&)> fetch;
    // Makes a fetch() that is under way, and every later one, come back soon.
    std::function<void()> give_up = [] {};
    Runtime& runtime;
    std::function<void()> wake;  // there is something to take
    int threads = 2;
  };

  explicit Preparer(Parts parts);
  ~Preparer() override;  // Waits for what is under way.
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

  void begin(const PrepareOrder& order) override;
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> take() override;

 private:
  void work();
  Result<Done, RuntimeError> prepare(const PrepareOrder& order);

  const Parts parts_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<PrepareOrder> waiting_;
  std::vector<std::pair<TaskKey, Result<Done, RuntimeError>>> finished_;
  bool stopped_{};
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace keel
