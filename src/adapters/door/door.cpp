#include "adapters/door/door.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <thread>

#include "adapters/door/listen.h"

namespace keel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Descriptors that connections leave to the store, the logs and everything else.
constexpr rlim_t descriptors_kept = 128;

enum class Protocol : std::uint8_t { unclear, grpc, http, gone };

Protocol peek(int connection) {
  std::array<char, http2_preface.size()> bytes{};
  ssize_t got = recv(connection, bytes.data(), bytes.size(), MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Protocol::unclear;
  if (got <= 0) return Protocol::gone;
  std::string_view first(bytes.data(), static_cast<std::size_t>(got));
  if (!http2_preface.starts_with(first)) return Protocol::http;
  return first.size() == http2_preface.size() ? Protocol::grpc : Protocol::unclear;
}

std::optional<Peer> local_peer(int connection) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return Peer{Peer::Kind::unix_socket, credentials.uid, credentials.gid, 0};
}

// The kernel gives the lowest free number, so a number tells how many are open.
int descriptors_max() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 1 << 20;
  rlim_t usable = limit.rlim_cur > 2 * descriptors_kept ? limit.rlim_cur - descriptors_kept
                                                        : limit.rlim_cur / 2;
  return static_cast<int>(std::min<rlim_t>(usable, 1 << 20));
}

}  // namespace

struct Door::Inside {
  struct Undecided {
    Descriptor connection;
    Peer peer;
    SteadyClock::time_point deadline;
  };

  Options options;
  Rooms rooms;
  LocalListener local;
  std::optional<TcpListener> tcp;
  Descriptor events;
  Descriptor stop;
  std::map<int, Undecided> undecided;  // by descriptor
  std::thread thread;

  Result<Done, std::string> start();
  bool watch(int descriptor, std::uint32_t what) const;
  void run();
  void accept_all(int listener, Peer::Kind kind);
  void decide(int connection);
  void close_late();
  void close_oldest();
};

Result<Done, std::string> Door::Inside::start() {
  events = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  stop = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool watched = events.is_open() && stop.is_open() && watch(stop.get(), EPOLLIN) &&
                 watch(local.socket.get(), EPOLLIN) && (!tcp || watch(tcp->socket.get(), EPOLLIN));
  if (!watched) return std::string("epoll: ") + std::strerror(errno);
  thread = std::thread([this] { run(); });
  return Done{};
}

bool Door::Inside::watch(int descriptor, std::uint32_t what) const {
  epoll_event event{};
  event.events = what;
  event.data.fd = descriptor;
  return epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Door::Inside::run() {
  std::array<epoll_event, 64> ready{};
  while (true) {
    int timeout_ms = undecided.empty() ? -1 : 100;
    int count = epoll_wait(events.get(), ready.data(), static_cast<int>(ready.size()), timeout_ms);
    for (int i = 0; i < count; ++i) {
      int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == stop.get()) return;
      if (descriptor == local.socket.get()) {
        accept_all(descriptor, Peer::Kind::unix_socket);
      } else if (tcp && descriptor == tcp->socket.get()) {
        accept_all(descriptor, Peer::Kind::loopback_tcp);
      } else {
        decide(descriptor);
      }
    }
    close_late();
  }
}

void Door::Inside::accept_all(int listener, Peer::Kind kind) {
  while (true) {
    Descriptor connection(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection.is_open()) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno == EAGAIN) return;
      // Out of descriptors or memory: whoever said nothing yet goes first, the others may end soon.
      close_oldest();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    int number = connection.get();
    if (number >= descriptors_max()) continue;
    std::optional<Peer> peer = Peer{kind, 0, 0, tcp ? tcp->port : std::uint16_t{0}};
    if (kind == Peer::Kind::unix_socket) {
      peer = local_peer(number);
    } else {
      int yes = 1;
      (void)setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // only slower without
    }
    // Edge-triggered, since bytes that were only peeked at stay readable.
    if (!peer || !watch(number, EPOLLIN | EPOLLRDHUP | EPOLLET)) continue;
    if (undecided.size() >= undecided_max) close_oldest();
    auto deadline = SteadyClock::now() + std::chrono::milliseconds(options.first_bytes_within_ms);
    undecided.emplace(number, Undecided{std::move(connection), *peer, deadline});
    decide(number);
  }
}

void Door::Inside::decide(int connection) {
  auto found = undecided.find(connection);
  if (found == undecided.end()) return;  // closed for another's sake since the event was reported
  Protocol protocol = peek(connection);
  if (protocol == Protocol::unclear) return;
  Undecided decided = std::move(found->second);
  undecided.erase(found);
  (void)epoll_ctl(events.get(), EPOLL_CTL_DEL, connection, nullptr);  // closing would do it as well
  if (protocol == Protocol::grpc) rooms.grpc(decided.connection.release(), decided.peer);
  if (protocol == Protocol::http) rooms.http(decided.connection.release(), decided.peer);
}

void Door::Inside::close_late() {
  auto now = SteadyClock::now();
  std::erase_if(undecided, [&](const auto& entry) { return entry.second.deadline <= now; });
}

void Door::Inside::close_oldest() {
  auto oldest = std::min_element(
      undecided.begin(), undecided.end(),
      [](const auto& a, const auto& b) { return a.second.deadline < b.second.deadline; });
  if (oldest != undecided.end()) undecided.erase(oldest);
}

Result<std::unique_ptr<Door>, std::string> Door::open(const Options& options, Rooms rooms) {
  auto inside = std::make_unique<Inside>();
  inside->options = options;
  inside->rooms = std::move(rooms);
  // The address is looked at first, so that a forbidden one leaves nothing behind.
  if (options.tcp_address) {
    TRY(listener, listen_on_loopback(*options.tcp_address));
    inside->tcp = std::move(listener);
  }
  TRY(local, listen_locally(options.socket_path));
  inside->local = std::move(local);
  std::unique_ptr<Door> door(new Door(std::move(inside)));  // from here on its end cleans up
  TRY(started, door->inside_->start());
  return door;
}

Door::Door(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

Door::~Door() {
  if (inside_->thread.joinable()) {
    std::uint64_t one = 1;
    (void)!write(inside_->stop.get(), &one, sizeof one);  // cannot fail: its counter is at 0
    inside_->thread.join();
  }
  (void)unlink(inside_->options.socket_path.c_str());  // ours, as long as the lock is held
}

std::uint16_t Door::tcp_port() const {
  return inside_->tcp ? inside_->tcp->port : std::uint16_t{0};
}

}  // namespace keel
