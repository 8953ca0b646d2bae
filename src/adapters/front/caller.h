// Who asks, as the door found out: never what the caller says of themselves.
#pragma once

#include <cstdint>

#include "model/job.h"

namespace keel {

struct Caller {
  enum class Door : std::uint8_t {
    local,  // the Unix socket: uid and gid are those of the peer
    token,  // loopback TCP with the operator's token: uid and gid mean nothing
  };
  Door door{};
  std::uint32_t uid{};
  std::uint32_t gid{};
  bool is_operator{};  // may act on everybody's jobs
};

// Whether the caller may stop what `owner` has started, and read what it wrote.
inline bool may_act(const Caller& caller, const Owner& owner) {
  return caller.is_operator || (caller.door == Caller::Door::local && caller.uid == owner.uid);
}

}  // namespace keel
