#include "adapters/door/gate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/check.h"
#include "wire/spec.h"

namespace keel {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    difference |= static_cast<unsigned>(a.bytes[i] ^ b.bytes[i]);
  }
  return difference == 0;
}

// "127.0.0.1:8080" in two; the port as written, or empty.
struct HostPort {
  std::string_view host;
  std::string_view port;
  bool has_port{};
};

HostPort split(std::string_view text) {
  auto colon = text.rfind(':');
  auto bracket = text.rfind(']');
  if (colon == text.npos || (bracket != text.npos && colon < bracket)) return {text, {}, false};
  return {text.substr(0, colon), text.substr(colon + 1), true};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_loopback_name(std::string_view host) {
  static constexpr std::array names{std::string_view("localhost"), std::string_view("127.0.0.1"),
                                    std::string_view("[::1]")};
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return same_letters(host, name); });
}

}  // namespace

Gate::Gate(std::string_view operator_token, std::uint32_t own_uid)
    : token_(sha256(operator_token)), own_uid_(own_uid) {
  check(operator_token.size() >= 16, "the operator's token cannot be guessed");
}

Result<Caller, pb::ApiError> Gate::admit(const Peer& peer, std::string_view authorization) const {
  if (peer.kind == Peer::Kind::unix_socket) {
    bool is_operator = peer.uid == 0 || peer.uid == own_uid_;
    return Caller{Caller::Door::local, peer.uid, peer.gid, is_operator};
  }
  constexpr std::string_view scheme = "bearer ";
  if (same_letters(authorization.substr(0, scheme.size()), scheme) &&
      equal_in_constant_time(sha256(authorization.substr(scheme.size())), token_)) {
    return Caller{Caller::Door::token, 0, 0, true};
  }
  return refuse(ErrorCode::unauthenticated,
                {"authorization", "", "Bearer TOKEN",
                 "TCP needs the operator's token, which keeld keeps in operator.token of its data "
                 "directory. The Unix socket needs none."});
}

bool Gate::may_be_agent(const Caller& caller) const {
  if (caller.door == Caller::Door::token) return true;  // only the operator's token opens it
  return caller.uid == 0 || caller.uid == own_uid_;
}

std::optional<pb::ApiError> Gate::wrong_host(const Peer& peer, std::string_view host) {
  if (host.empty() && peer.kind == Peer::Kind::unix_socket) return std::nullopt;
  auto [name, port, has_port] = split(host);
  if (is_loopback_name(name) && (!has_port || parse_port(port))) return std::nullopt;
  return refuse(ErrorCode::denied, {"Host", host, "localhost, 127.0.0.1 or [::1]",
                                    "This server answers to names of its own host only."});
}

std::optional<pb::ApiError> Gate::wrong_origin(const Peer& peer, std::string_view origin) {
  constexpr std::string_view scheme = "http://";
  if (same_letters(origin.substr(0, scheme.size()), scheme)) {
    auto [name, port, has_port] = split(origin.substr(scheme.size()));
    std::optional<std::uint16_t> number = has_port ? parse_port(port) : std::uint16_t{80};
    bool ours = peer.kind == Peer::Kind::loopback_tcp && number == peer.port;
    if (ours && is_loopback_name(name)) return std::nullopt;
  }
  return refuse(ErrorCode::denied, {"Origin", origin, "this server's own pages",
                                    "Pages of other sites may not call this server."});
}

}  // namespace keel
