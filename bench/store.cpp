// How many submissions a second become durable, and what a job costs on disk: measured through the
// leader's own turns on a store of its own, which is removed afterwards.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "adapters/clock/clock.h"
#include "adapters/clock/ids.h"
#include "adapters/sqlite/store.h"
#include "apps/command_line.h"
#include "base/check.h"
#include "bench/bench.h"
#include "bench/lives.h"
#include "control/turn.h"

namespace keel::bench {
namespace {

using Json = nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

struct Rate {
  double per_s{};
  double cpu_us{};  // of this process, for each submission
};

struct Options {
  std::uint64_t stored = 1'000'000;
  std::uint64_t lives = 50'000;
  std::uint64_t seconds = 5;  // for each figure
  std::string directory = ".";
  bool json{};
};

constexpr std::size_t batch_sizes[] = {1, 32, 256};  // the last is the most that a turn hears

double since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

void say(const std::string& text) { std::fprintf(stderr, "keel-bench: %s\n", text.c_str()); }

template <class T>
T or_exit(Result<T, StoreError> result) {
  if (result) return *std::move(result);
  say("the store: " + result.error().detail);
  std::exit(1);
}

// A directory that goes with its owner.
class Place {
 public:
  explicit Place(const std::string& parent) : directory_(parent + "/keel-bench-XXXXXX") {
    if (::mkdtemp(directory_.data()) != nullptr) return;
    say("cannot make a directory in " + parent);
    std::exit(1);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(directory_); }

  const std::string& directory() const { return directory_; }
  std::string database() const { return directory_ + "/keel.db"; }

  // Of the database with its log, as they lie there.
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      sum += file.file_size();
    }
    return sum;
  }

 private:
  std::string directory_;
};

// People who submit, and nobody else. Each answer is a job that was new.
class Submitters final : public Inputs, public Callers, public Agents {
 public:
  void submit(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      waiting_.push_back(submission(said_++, Specs::different));
  }
  std::uint64_t answered() const { return answered_; }

  std::vector<Input> take(std::size_t max, Instant) override {
    check(waiting_.size() <= max, "a batch fits into a turn");
    return std::exchange(waiting_, {});
  }
  void answer(Answer answer) override {
    const auto* made = std::get_if<SubmitAnswer>(&answer.kind);
    check(made != nullptr && !made->existing, "every submission makes a job");
    ++answered_;
  }
  void committed(Seq, const std::vector<JobId>&) override {}
  void welcome(const NodeId&, SessionNo, const Welcome&) override {}
  void refuse(SessionNo, const std::string&) override {}
  void acknowledge(const NodeId&, SessionNo, ReportNo) override {}
  void send(SessionNo, Epoch, ReportNo, const Duty&, const JobSpec*) override {}

 private:
  std::vector<Input> waiting_;
  std::uint64_t said_ = 0;
  std::uint64_t answered_ = 0;
};

// A leader on a store.
struct Plane {
  explicit Plane(const Place& place)
      : store(or_exit(SqliteStore::open(place.database()))), recovered(or_exit(recover(*store))) {}

  // Takes one turn that hears `count` submissions. Gives the seconds that the turn took.
  double take_turn(std::size_t count) {
    people.submit(count);
    const auto begun = SteadyClock::now();
    const std::clock_t cpu = std::clock();
    or_exit(leader.take_turn({}));
    cpu_s += static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    return since(begun);
  }

  // Submissions a second in turns of `batch`.
  Rate rate(std::size_t batch, double seconds) {
    const std::uint64_t before = people.answered();
    double spent = 0;
    cpu_s = 0;
    while (spent < seconds) spent += take_turn(batch);
    const auto jobs = static_cast<double>(people.answered() - before);
    return {jobs / spent, cpu_s / jobs * 1e6};
  }

  double cpu_s = 0;  // of turns
  SystemClock clock{{}};
  RandomIds ids;
  Submitters people;
  std::unique_ptr<SqliteStore> store;
  const Recovered recovered;
  Leader leader{Policy{},
                {.clock = clock,
                 .store = *store,
                 .inputs = people,
                 .callers = people,
                 .agents = people,
                 .ids = ids},
                recovered};
};

// What a sync costs here: the median of appending 4 KiB to a file and fdatasync.
double sync_us(const Place& place) {
  const int file =
      ::open((place.directory() + "/sync").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  const std::string page(4096, 'x');
  std::vector<double> spent;
  for (int i = 0; i < 200; ++i) {
    const auto begun = SteadyClock::now();
    const bool written = ::write(file, page.data(), page.size()) == 4096 && ::fdatasync(file) == 0;
    if (!written) say("cannot write a file beside the store");
    spent.push_back(since(begun) * 1e6);
  }
  ::close(file);
  std::ranges::nth_element(spent, spent.begin() + 100);
  return spent[100];
}

std::uint64_t whole(double figure) { return static_cast<std::uint64_t>(figure + 0.5); }

void measure(Plane& plane, const Options& options, const std::string& stored, Json& figures) {
  for (const std::size_t batch : batch_sizes) {
    const std::string size = std::to_string(batch);
    const Rate rate = plane.rate(batch, static_cast<double>(options.seconds));
    figures["submissions_per_s"][stored][size] = whole(rate.per_s);
    figures["cpu_us_per_submission"][stored][size] = whole(rate.cpu_us);
    say("batches of " + size + ": " + std::to_string(whole(rate.per_s)) + " submissions/s, " +
        std::to_string(whole(rate.cpu_us)) + " us of CPU each");
  }
}

void fill(Plane& plane, std::uint64_t jobs) {
  const auto begun = SteadyClock::now();
  while (plane.people.answered() < jobs) {
    plane.take_turn(std::min<std::uint64_t>(256, jobs - plane.people.answered()));
    const std::uint64_t stored = plane.people.answered();
    if (stored % 102'400 != 0 && stored != jobs) continue;
    say(std::to_string(stored) + " stored, " +
        std::to_string(whole(static_cast<double>(stored) / since(begun))) + " a second so far");
  }
}

// The bytes of a job that has lived its whole life.
std::uint64_t bytes_of_a_life(const Options& options, Specs specs, const Retention& retention) {
  const Place place(options.directory);
  {
    const auto store = or_exit(SqliteStore::open(place.database(), {.retention = retention}));
    Lives lives(*store, or_exit(store->take_over()), specs, 256);
    or_exit(lives.play(options.lives));
  }
  return place.bytes() / options.lives;
}

Json bytes_of_lives(const Options& options) {
  Json figures;
  for (const bool cut : {false, true}) {
    const Retention retention{cut ? options.lives : std::numeric_limits<std::uint64_t>::max()};
    Json& figure = figures[cut ? "log_cut" : "all_events"];
    say(cut ? "lives, the log cut" : "lives with all their events");
    figure["equal_specs"] = bytes_of_a_life(options, Specs::equal, retention);
    figure["different_specs"] = bytes_of_a_life(options, Specs::different, retention);
  }
  return figures;
}

int run(const Options& options) {
  Json figures;
  figures["bench"] = "store";
  figures["stored"] = options.stored;
  {
    const Place place(options.directory);
    figures["sync_us"] = whole(sync_us(place));
    Plane plane(place);
    measure(plane, options, "0", figures);
  }
  {
    const Place place(options.directory);
    auto plane = std::make_unique<Plane>(place);
    fill(*plane, options.stored);
    figures["bytes_per_waiting_job"] = place.bytes() / std::max<std::uint64_t>(options.stored, 1);
    measure(*plane, options, std::to_string(options.stored), figures);
    plane.reset();
    const auto begun = SteadyClock::now();
    plane = std::make_unique<Plane>(place);
    figures["restart_ms"] = whole(since(begun) * 1e3);
  }
  figures["bytes_per_job_on_disk"] = bytes_of_lives(options);
  std::printf("%s\n", figures.dump(options.json ? -1 : 2).c_str());
  return 0;
}

}  // namespace

void add_store(CLI::App& app, Run& chosen) {
  CLI::App* command =
      app.add_subcommand("store", "durable submissions a second, and what a job costs on disk");
  const auto options = std::make_shared<Options>();
  add_whole(*command, "--stored", options->stored, 0, 100'000'000, "jobs that are stored before");
  add_whole(*command, "--lives", options->lives, 1, 100'000'000,
            "jobs that live their whole lives, for the bytes");
  add_whole(*command, "--seconds", options->seconds, 1, 3600, "of turns, for each figure");
  command->add_option("--directory", options->directory,
                      "where the stores are made, and removed (default: here)");
  command->add_flag("--json", options->json, "the last line of stdout is one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace keel::bench
