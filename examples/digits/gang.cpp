#include "gang.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "failure.h"

namespace keel::digits {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t hello_magic = 0x4b45454c47414e31;  // "KEELGAN1" in memory order.
constexpr std::byte welcome{1};  // One byte: an answer is there or it is not.
constexpr std::byte refused{2};
constexpr milliseconds hello_timeout{2000};  // A stranger that says nothing holds us up no longer.
constexpr milliseconds patience{500};        // Between two looks at give_up.
constexpr milliseconds retry_delay{50};
constexpr std::uint64_t broadcast_max_bytes = std::uint64_t{1} << 30U;

struct Hello {
  std::uint64_t magic = hello_magic;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::uint32_t run_id = 0;
  std::uint32_t padding = 0;
};

struct FrameHead {
  std::uint64_t turn = 0;
  std::uint64_t bytes = 0;
};

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

template <typename T>
std::span<std::byte> room_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

void look_up(const GangOptions& options) {
  if (options.give_up()) throw Failure("stopped before training began", exit_stopped);
}

// The centre's answer to a hello; nothing where it went away or did not answer in time. Waits on
// one connection to the end: a second call of the same rank would be refused if the first is heard
// late.
std::optional<std::byte> await_answer(const Socket& centre, const GangOptions& options,
                                      SteadyTime end) {
  std::byte answer{0};
  while (steady_clock::now() < end) {
    look_up(options);
    const auto broken = receive_all(centre, room_of(answer), steady_clock::now() + patience);
    if (!broken) return answer;
    if (broken == Broken::closed) break;
  }
  return std::nullopt;
}

}  // namespace

void add_to(std::span<double> sums, std::span<const double> values) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
}

Gang::Gang(const Rendezvous& rendezvous, const GangOptions& options)
    : rank_(rendezvous.rank),
      world_(rendezvous.world),
      peer_timeout_(options.peer_timeout),
      peers_(rendezvous.world) {}

Gang Gang::open(const Rendezvous& rendezvous, const GangOptions& options) {
  Gang gang(rendezvous, options);
  if (gang.world_ == 1) return gang;
  const Address centre{.host = rendezvous.address, .port = rendezvous.port};
  if (gang.rank_ == 0) {
    gang.gather_callers(centre, options);
  } else {
    gang.call_centre(centre, options);
  }
  return gang;
}

void Gang::gather_callers(const Address& address, const GangOptions& options) {
  const SteadyTime end = steady_clock::now() + options.assembly_timeout;
  const Socket listener = listen_at(address);
  for (std::size_t missing = world_ - 1; missing > 0;) {
    look_up(options);
    const SteadyTime now = steady_clock::now();
    if (now > end) {
      throw Failure(std::to_string(missing) + " of " + std::to_string(world_) +
                    " tasks did not arrive within " +
                    std::to_string(options.assembly_timeout.count()) + " ms");
    }
    auto caller = accept_one(listener, std::min(end, now + patience));
    if (!caller) continue;
    const SteadyTime soon = steady_clock::now() + hello_timeout;
    Hello hello{.magic = 0};
    if (receive_all(*caller, room_of(hello), soon) || hello.magic != hello_magic) continue;
    const bool ours = hello.run_id == options.run_id && hello.world == world_ && hello.rank > 0 &&
                      hello.rank < world_ && peers_[hello.rank].fd() < 0;
    if (send_all(*caller, bytes_of(ours ? welcome : refused), soon) || !ours) continue;
    peers_[hello.rank] = std::move(*caller);
    --missing;
  }
}

void Gang::call_centre(const Address& address, const GangOptions& options) {
  const SteadyTime end = steady_clock::now() + options.assembly_timeout;
  const Hello hello{.rank = static_cast<std::uint32_t>(rank_),
                    .world = static_cast<std::uint32_t>(world_),
                    .run_id = options.run_id};
  for (;;) {
    look_up(options);
    const SteadyTime now = steady_clock::now();
    if (now > end) {
      throw Failure("rank 0 was not to be reached at " + address.host + ":" +
                    std::to_string(address.port) + " within " +
                    std::to_string(options.assembly_timeout.count()) + " ms");
    }
    auto socket = connect_once(address, std::min(end, now + patience));
    if (socket && !send_all(*socket, bytes_of(hello), end)) {
      const auto answer = await_answer(*socket, options, end);
      if (answer == welcome) {
        peers_[0] = std::move(*socket);
        return;
      }
      if (answer == refused) {
        throw Failure(
            "rank 0 refuses this task: its rank is taken, or its flags, data set, "
            "WORLD_SIZE or job differ");
      }
    }
    std::this_thread::sleep_for(retry_delay);
  }
}

void Gang::send(std::size_t peer, std::span<const std::byte> bytes) {
  const FrameHead head{.turn = turn_, .bytes = bytes.size()};
  const SteadyTime end = steady_clock::now() + peer_timeout_;
  auto broken = send_all(peers_[peer], bytes_of(head), end);
  if (!broken) broken = send_all(peers_[peer], bytes, end);
  if (broken) {
    throw PeerLost("rank " + std::to_string(peer) + " is lost: " +
                   (*broken == Broken::closed ? "it closed the connection" : "it takes nothing"));
  }
}

void Gang::receive(std::size_t peer, std::span<std::byte> bytes) {
  const std::string who = "rank " + std::to_string(peer);
  FrameHead head;
  const SteadyTime end = steady_clock::now() + peer_timeout_;
  auto broken = receive_all(peers_[peer], room_of(head), end);
  if (!broken && (head.turn != turn_ || head.bytes != bytes.size())) {
    throw PeerLost(who + " is out of step with this task");
  }
  if (!broken) broken = receive_all(peers_[peer], bytes, end);
  if (broken == Broken::closed) throw PeerLost(who + " is lost: it closed the connection");
  if (broken) {
    throw PeerLost(who + " is lost: not a word for " + std::to_string(peer_timeout_.count()) +
                   " ms");
  }
}

void Gang::sum(std::span<double> values) {
  ++turn_;
  const auto bytes = std::as_writable_bytes(values);
  if (rank_ != 0) {
    send(0, bytes);
    receive(0, bytes);
    return;
  }
  std::vector<double> theirs(world_ > 1 ? values.size() : 0);
  for (std::size_t peer = 1; peer < world_; ++peer) {
    receive(peer, std::as_writable_bytes(std::span(theirs)));
    add_to(values, theirs);
  }
  for (std::size_t peer = 1; peer < world_; ++peer) send(peer, bytes);
}

Bytes Gang::broadcast(Bytes bytes) {
  ++turn_;
  std::uint64_t length = bytes.size();
  if (rank_ != 0) {
    receive(0, room_of(length));
    if (length > broadcast_max_bytes) throw PeerLost("rank 0 announces more than 1 GiB");
    bytes.resize(length);
    receive(0, bytes);
    return bytes;
  }
  for (std::size_t peer = 1; peer < world_; ++peer) {
    send(peer, bytes_of(length));
    send(peer, bytes);
  }
  return bytes;
}

}  // namespace keel::digits
