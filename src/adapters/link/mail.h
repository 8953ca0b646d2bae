// What the link has heard and the agent has not yet taken.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ports/server.h"

namespace keel {

// All calls: any thread; none blocks.
class Mail {
 public:
  struct Heard {
    std::uint64_t connection{};  // 1, 2, … in the order in which they were made
    ServerMessage message;
  };

  explicit Mail(std::size_t waiting_max);
  ~Mail();
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  // Readable while there is something to take.
  int descriptor() const { return descriptor_; }

  // False, and not kept, where too much waits. Word of a connection made or lost is always kept.
  bool put(Heard heard);
  std::vector<Heard> take();

  void note_trouble(std::string why);
  std::string trouble() const;

 private:
  const std::size_t waiting_max_;
  const int descriptor_;
  mutable std::mutex mutex_;
  std::vector<Heard> waiting_;
  std::string trouble_;
};

}  // namespace keel
