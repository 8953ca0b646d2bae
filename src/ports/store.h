// What the control plane needs from durable storage. tests/contract/store_contract.h holds every
// implementation to this text.
//
// The log of events is the truth. Live rows (jobs, nodes, holdings) are its projection, written in
// the same transaction, so that a restart reads rows and not years of events. Therefore the log
// may be cut: behind the cut it holds the events of jobs that are not over, and no others. Rows of
// jobs, their keys and their specs are kept for ever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/holding.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"

namespace keel {

struct StoreError {
  enum class Code : std::uint8_t {
    conflict,      // somebody appended first: reload and decide again
    fenced,        // a newer leader exists: stop deciding
    key_taken,     // a (user, key) of the batch names a stored job: nothing was written; look it up
    device_taken,  // a device of the batch is in a live reservation: nothing was written; our bug
    unavailable,   // nothing was written: try again later with the same arguments
    unknown,       // may or may not be written: reload before anything else
    broken,        // the disk failed to sync: may or may not be written, and this store writes
                   // nothing more. End the process: only what a new one reads can be relied on
    unreadable,    // damaged, or written by a newer version: do not go on
    cut,           // events that were asked for are no longer kept; see `first_kept`
  };
  Code code{};
  std::string detail{};  // for the operator's log; never parsed, never shown to users
  Seq first_kept{};      // cut: the log is whole from here on
};

// How much of the log is kept, whatever it tells of: the newest `events` of it, at least one. A
// count and not an age, so that a clock that jumps takes no history with it.
struct Retention {
  std::uint64_t events = 10'000'000;  // about 1 GB; the whole lives of 900,000 jobs
};

// Where the log is cut by an append of `events` that ends at `last`, having been cut at `cut`: the
// cut follows at twice the log's pace at most, so that no append pays for a retention that was
// lowered. Events up to here go, if they tell of no job or of one that is over by then.
inline Seq cut_after(Seq cut, Seq last, std::uint64_t events, const Retention& retention) {
  const std::uint64_t kept = std::max<std::uint64_t>(retention.events, 1);
  const std::uint64_t goal = last.value > kept ? last.value - kept : 0;
  return Seq{std::max(cut.value, std::min(goal, cut.value + 2 * events))};
}

// One turn's worth of writing.
struct Batch {
  std::vector<StoredEvent> events{};                // seq: after + 1, after + 2, …
  std::vector<std::pair<Digest, JobSpec>> specs{};  // those that a new job of `events` names
  std::vector<Job> jobs{};                          // each job that changed, as it is afterwards
  std::vector<Node> nodes{};                        // likewise
  std::vector<HoldingChange> holdings{};            // in order
  FencingToken last_token;                          // as it is afterwards; never goes down
  bool settles{};                                   // what was lost by mark_restored() is over
};

// What recovery starts from.
struct Loaded {
  Seq seq{};     // of the last stored event
  Instant at{};  // its time; 0 for an empty log
  FencingToken last_token;
  std::vector<Job> jobs{};          // those that need memory, in ascending order of id
  std::vector<Node> nodes{};        // in ascending order of id
  std::vector<Holding> holdings{};  // in ascending order of device
  std::vector<LostTokens> lost{};   // in ascending order
  bool settling{};                  // a batch that `settles` has not come since mark_restored()
};

// Where mark_restored() goes. Nobody gives 2^30 tokens or 2^10 epochs in a second, and a new store
// begins at 0: whatever was given until a moment is below that moment, counted in those units. So
// the moment is beyond all that was given after the copy was made, and beyond where any earlier
// marking went. It goes no further, because what is given ahead of the clock can be given again: by
// the same copy, put back once more.
// Where the clock is not even beyond what the copy has, the clock is wrong, or it was. Then the
// marking goes so far, and by its microseconds further each time.
inline constexpr std::uint64_t tokens_skipped = std::uint64_t{1} << 40;
inline constexpr std::uint64_t epochs_skipped = std::uint64_t{1} << 20;
struct Skipped {
  Epoch epoch;
  FencingToken last_token;
};
inline Skipped skip(Epoch epoch, FencingToken last_token, Instant wall) {
  constexpr std::int64_t wall_max = (std::int64_t{1} << 32) * 1'000'000;  // the year 2106
  const auto passed = static_cast<std::uint64_t>(std::clamp<std::int64_t>(wall.us, 0, wall_max));
  const std::uint64_t whole = passed / 1'000'000;
  const std::uint64_t part = passed % 1'000'000;
  Skipped to{{(whole << 10) + part / 1000}, {(whole << 30) + (part << 10)}};
  if (to.epoch <= epoch) to.epoch = {epoch.value + epochs_skipped + passed / 1000};
  if (to.last_token <= last_token) to.last_token = {last_token.value + tokens_skipped + passed};
  return to;
}

// True where a restart has to know the job: it is not terminal, or one of its tasks is not settled.
inline bool needs_memory(const Job& job) {
  return !is_terminal(job.state) || std::ranges::any_of(job.tasks, [](const Task& t) {
    return t.state != TaskState::settled;
  });
}

class Store {
 public:
  virtual ~Store() = default;

  // Becomes the leader: raises the stored epoch by one, durably, and gives it. Every append with a
  // lower epoch answers `fenced` from then on.
  virtual Result<Epoch, StoreError> take_over() = 0;

  // To be called once where an older copy of the store was put back, before anybody leads by it.
  // What the store gave out after the copy was made it will not give out again: epoch and last
  // token are raised, durably, by more than can have been given, and those tokens are `lost`.
  // `wall` is the wall clock's time, so that one copy can be put back more than once.
  struct Restored {
    Epoch epoch;
    LostTokens lost;
  };
  virtual Result<Restored, StoreError> mark_restored(Instant wall) = 0;

  // Whether `epoch` still leads: `fenced` where it does not. Reads only.
  virtual Result<Done, StoreError> confirm(Epoch epoch) = 0;

  // Reads the live rows: every job that needs memory, every node and every holding. `unreadable`
  // where the log does not end at the recorded position.
  virtual Result<Loaded, StoreError> load() = 0;

  // Appends `batch` as one transaction: all of it becomes durable (synced), or nothing does.
  //
  // epoch     the caller's. A store that has seen a higher one answers `fenced`, and so does one
  //           that never gave it (a store put back from an older copy).
  // after     the log position decided on. Any other current position answers `conflict`.
  // batch     taking a held device, or freeing one that another job or token holds:
  //           `device_taken`. Taking one for a job that holds others under another token is a
  //           second reservation of it, and answers `conflict`, as other broken promises do; the
  //           detail says which: events not
  //           numbered from `after` on or going back in time; a Reserved event whose token is not
  //           above all earlier ones; a `last_token` that goes down; a stored job with another
  //           user, key, said or spec than before; a job without its spec, a holding or an event
  //           without its job; a job that is over and whose events are cut; a device freed that
  //           nobody holds; a value that could not be read back.
  // returns   the new last position: after + events.size(). The log is cut in the same transaction.
  // threads   one caller at a time.
  virtual Result<Seq, StoreError> append(Epoch epoch, Seq after, const Batch& batch) = 0;

  // The row of a spec.
  virtual Result<std::optional<JobSpec>, StoreError> spec(const Digest& digest) = 0;

  // For each key, the job that it made, or nothing. In the order of `keys`.
  struct KeyRow {
    JobId job;
    Digest said{};
  };
  virtual Result<std::vector<std::optional<KeyRow>>, StoreError> find_keys(
      const std::vector<SubmitKey>& keys) = 0;

  // The jobs of `ids` that are stored, terminal ones included, in ascending order of id.
  virtual Result<std::vector<Job>, StoreError> find_jobs(const std::vector<JobId>& ids) = 0;
};

}  // namespace keel
