#include "adapters/door/peer.h"

#include <charconv>

namespace keel {

void Peers::note(int descriptor, const Peer& peer) {
  std::lock_guard lock(mutex_);
  peers_[descriptor] = peer;
}

std::optional<Peer> Peers::find(std::string_view name) const {
  constexpr std::string_view prefix = "fd:";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int descriptor = -1;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  std::lock_guard lock(mutex_);
  auto found = peers_.find(descriptor);
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace keel
