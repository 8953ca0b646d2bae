// Who may come in, decided for both protocols in one place. Values in, values out; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapters/door/peer.h"
#include "adapters/front/caller.h"
#include "adapters/front/error.h"
#include "base/result.h"
#include "model/ids.h"

namespace keel {

// Without TLS nothing but loopback is served, and there the local socket proves a person's uid; TCP
// proves nothing, so it takes the operator's token for every method.
class Gate {
 public:
  // `operator_token` must be at least 16 bytes; `own_uid` is that of this server.
  Gate(std::string_view operator_token, std::uint32_t own_uid);

  // Who calls. `authorization` is that header, empty where there is none. Refuses with
  // `unauthenticated`, never saying how a token was wrong.
  Result<Caller, pb::ApiError> admit(const Peer& peer, std::string_view authorization) const;

  // Whether this caller may speak as an agent: agents run as root, or as whoever runs the server.
  bool may_be_agent(const Caller& caller) const;

  // A page of a foreign name that was made to resolve to 127.0.0.1 names itself in Host (and
  // :authority). Nothing where it is a name of this host's loopback; `host` is empty where the
  // caller sent none, which only the local socket allows.
  static std::optional<pb::ApiError> wrong_host(const Peer& peer, std::string_view host);

  // A page of another site names that site in Origin. Nothing where it is this server's own page.
  // Asked only where the caller sent one.
  static std::optional<pb::ApiError> wrong_origin(const Peer& peer, std::string_view origin);

 private:
  Digest token_;  // its digest: comparing takes the same time whatever is compared
  std::uint32_t own_uid_;
};

}  // namespace keel
