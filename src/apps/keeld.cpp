// keeld: joins the parts of the control plane and lets them run.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "adapters/blobs/file_store.h"
#include "adapters/clock/clock.h"
#include "adapters/clock/ids.h"
#include "adapters/door/door.h"
#include "adapters/front/front.h"
#include "adapters/front/people.h"
#include "adapters/grpc/server.h"
#include "adapters/grpc/sessions.h"
#include "adapters/http/rest.h"
#include "adapters/http/server.h"
#include "adapters/inbox/inbox.h"
#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "apps/keeld/options.h"
#include "apps/keeld/stored_files.h"
#include "apps/keeld/token.h"
#include "apps/keeld/user.h"
#include "control/recover.h"
#include "control/turn.h"
#include "core/submit.h"

namespace {

using namespace keel;

constexpr Bytes files_total_max = gibibytes(16);
constexpr Duration look_up_at_least_every = seconds(1);
constexpr auto pause_when_unavailable = std::chrono::milliseconds(200);
constexpr Duration answer_within = seconds(5);  // also when the store is out of reach

void say(const std::string& text) { std::fprintf(stderr, "keeld: %s\n", text.c_str()); }

template <class T>
T or_exit(Result<T, std::string> result) {
  if (result) return *std::move(result);
  say(result.error());
  std::exit(1);
}

template <class T>
T or_exit(Result<T, StoreError> result) {
  if (result) return *std::move(result);
  say("the store: " + result.error().detail);
  std::exit(1);
}

std::unique_ptr<FileStore> open_files(const std::string& data) {
  auto files = FileStore::open(data + "/files", files_total_max);
  if (files) return *std::move(files);
  say(data + "/files: " + files.error().detail);
  std::exit(1);
}

// Whose the jobs submitted with the token are: a person named on the command line, else whoever
// runs keeld, but never root: root's jobs come in by the local door.
std::optional<Owner> token_owner(const std::string& name) {
  if (name.empty()) {
    if (::getuid() == 0) return std::nullopt;
    return person(::getuid(), ::getgid());
  }
  const auto user = find_user(name);
  if (!user) {
    say("--token-user: there is no user '" + name + "' on this host");
    std::exit(2);
  }
  if (user->uid == 0) {
    say("--token-user: jobs submitted with the token never run as root");
    std::exit(2);
  }
  return *user;
}

void write_address(const KeeldOptions& options, const Door& door) {
  if (options.address_file.empty()) return;
  const bool v6 = options.http.starts_with('[');
  const std::string address =
      (v6 ? "[::1]:" : "127.0.0.1:") + std::to_string(door.tcp_port()) + "\n";
  const std::string unfinished = options.address_file + ".new";
  std::FILE* file = std::fopen(unfinished.c_str(), "we");
  const bool written = file != nullptr && std::fputs(address.c_str(), file) >= 0;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed || std::rename(unfinished.c_str(), options.address_file.c_str()) != 0) {
    say("cannot write " + options.address_file);
    std::exit(1);
  }
}

// Waits for a signal that asks the program to end. All threads have these signals blocked.
class Signals {
 public:
  Signals() {
    ::sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  // Runs `then` on a thread of its own when the first signal comes.
  void watch(std::function<void()> then) {
    std::thread([set = set_, then = std::move(then)] {
      int signal = 0;
      ::sigwait(&set, &signal);
      then();
    }).detach();
  }

 private:
  sigset_t set_{};
};

// Turn after turn, until it is told to stop or the store says that this leader is over.
int lead(Leader& leader, Inbox& inbox, Clock& clock, const std::atomic<bool>& stop) {
  bool complained = false;
  std::uint64_t alarms = 0;
  while (!stop) {
    const auto turn = leader.take_turn(clock.now() + look_up_at_least_every);
    for (const std::string& notice : leader.take_notices()) say(notice);
    if (const auto now = leader.controller().alarms(); now > alarms) {
      say(std::to_string(now) + " alarms: agents have said what cannot be");
      alarms = now;
    }
    if (turn) {
      complained = false;
      continue;
    }
    if (turn.error().code != StoreError::Code::unavailable) {
      say("the store: " + turn.error().detail + "; ending, a new start recovers");
      return 1;
    }
    if (!complained) say("the store is out of reach, trying again: " + turn.error().detail);
    complained = true;
    inbox.give_up(answer_within, turn.error().detail);
    std::this_thread::sleep_for(pause_when_unavailable);
  }
  return 0;
}

// What lies on disk, and what was found there.
struct Kept {
  Descriptor lock;
  OperatorToken token;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<SqliteRecords> records;
  std::unique_ptr<FileStore> files;
  Recovered recovered;
};

Kept open_all(const std::string& data, const Retention& retention) {
  const std::string database = data + "/keel.db";
  auto lock = or_exit(hold_directory(data));
  auto token = or_exit(operator_token(data));
  auto store = or_exit(SqliteStore::open(database, {.retention = retention}));
  auto records = or_exit(SqliteRecords::open(database));
  auto files = open_files(data);
  auto recovered = or_exit(recover(*store));
  say("epoch " + std::to_string(recovered.epoch.value) + ", " +
      std::to_string(recovered.loaded.jobs.size()) + " live jobs");
  return {std::move(lock),    std::move(token), std::move(store),
          std::move(records), std::move(files), std::move(recovered)};
}

// An older copy was put back: nothing that was given out after it is given out again.
int mark_restored(const KeeldOptions& options) {
  const std::string database = options.data + "/keel.db";
  if (::access(database.c_str(), F_OK) != 0) {
    say(database + ": " + std::strerror(errno) + "; put the copy there first");
    return 1;
  }
  const auto lock = or_exit(hold_directory(options.data));
  const auto store = or_exit(SqliteStore::open(database, {}));
  const Store::Restored marked = or_exit(store->mark_restored(SystemClock({}).now()));
  std::printf(
      "marked: %s was put back from an older copy. Tokens %llu to %llu count as given by what was "
      "lost. Start keeld as usual; it places no job until all that was begun after the copy has "
      "been heard of or has surely ended.\n",
      options.data.c_str(), static_cast<unsigned long long>(marked.lost.after.value + 1),
      static_cast<unsigned long long>(marked.lost.up_to.value));
  return 0;
}

int serve(const KeeldOptions& options) {
  const auto token_user = token_owner(options.token_user);
  const Kept kept = open_all(options.data, options.retention);

  SystemClock clock(kept.recovered.loaded.at);
  RandomIds ids;
  Timer timer;
  Feed feed(timer);
  Inbox inbox(clock, feed);
  AgentSessions sessions(inbox, timer);
  StoredFiles files(*kept.files);
  Front front({.inbox = inbox,
               .feed = feed,
               .timer = timer,
               .records = *kept.records,
               .files = files,
               .logs = sessions,
               .complete = [&](const SaidSpec& said) { return complete(said, options.policy); },
               .token_owner = token_user});
  const Gate gate(kept.token.text, ::getuid());
  Leader leader(options.policy,
                {.clock = clock,
                 .store = *kept.store,
                 .inputs = inbox,
                 .callers = inbox,
                 .agents = sessions,
                 .ids = ids},
                kept.recovered);

  const auto grpc = or_exit(GrpcServer::start(
      {.front = front, .sessions = sessions, .files = files, .timer = timer, .gate = gate}));
  Rest rest(front, gate);
  HttpServer http(rest, {});
  auto door = or_exit(
      Door::open({.socket_path = options.socket,
                  .tcp_address = options.http.empty() ? std::nullopt : std::optional(options.http)},
                 {.grpc = [&](int fd, const Peer& peer) { grpc->adopt(fd, peer); },
                  .http = [&](int fd, const Peer& peer) { http.adopt(fd, peer); }}));
  write_address(options, *door);
  say("ready at " + options.socket);

  static std::atomic<bool> stop{false};
  Signals().watch([&inbox] {
    stop = true;
    inbox.wake();
  });
  const int code = lead(leader, inbox, clock, stop);
  door.reset();
  inbox.close();
  feed.close();
  sessions.close();
  timer.stop();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_keeld_options(argc, argv);
  if (!options) return options.error();
  const Signals blocked;  // before the first thread
  return options->restored ? mark_restored(*options) : serve(*options);
}
