#include "sim/model_store.h"

#include <algorithm>
#include <set>
#include <variant>

#include "base/plant.h"

namespace keel {
namespace {

using enum StoreError::Code;
using Broken = std::optional<StoreError>;

Seq last_seq(const ModelRows& rows) { return {rows.events.size()}; }

// Numbers, times and tokens of a batch.
Broken broken_log(const ModelRows& rows, const Batch& batch) {
  Seq seq = last_seq(rows);
  Instant at = rows.events.empty() ? Instant{} : rows.events.back().at;
  FencingToken token = rows.last_token;
  for (const StoredEvent& event : batch.events) {
    seq.value += 1;
    if (event.seq != seq) return StoreError{conflict, "numbered with a gap"};
    if (event.at < at) return StoreError{conflict, "time goes back"};
    at = event.at;
    const auto* fact = std::get_if<JobFact>(&event.fact);
    const auto* reserved = fact != nullptr ? std::get_if<Reserved>(&fact->event) : nullptr;
    if (reserved == nullptr) continue;
    if (reserved->token <= token) return StoreError{conflict, "token not above earlier ones"};
    token = reserved->token;
  }
  if (batch.last_token < token) return StoreError{conflict, "last token goes down"};
  return std::nullopt;
}

bool same_submission(const Job& a, const Job& b) {
  return a.owner.user == b.owner.user && a.key == b.key && a.said == b.said && a.spec == b.spec;
}

Seq last_event(const ModelRows& rows, JobId job) {
  const auto last = rows.last_events.find(job);
  return last == rows.last_events.end() ? Seq{} : last->second;
}

// True where all events of a stored job are cut, for ever.
bool is_cut(const ModelRows& rows, const Job& job) {
  const Seq last = last_event(rows, job.id);
  return !needs_memory(job) && last != Seq{} && last <= rows.cut;
}

StoreError cut_at(Seq cut_to) { return {cut, "no longer kept", Seq{cut_to.value + 1}}; }

// Identity, keys and specs of a batch's jobs.
Broken broken_jobs(const ModelRows& rows, const Batch& batch) {
  std::set<SubmitKey> new_keys;
  for (const Job& job : batch.jobs) {
    if (const auto stored = rows.jobs.find(job.id); stored != rows.jobs.end()) {
      if (!same_submission(stored->second, job)) return StoreError{conflict, "another's id"};
      if (is_cut(rows, stored->second)) return StoreError{conflict, "over, and cut"};
      continue;
    }
    const SubmitKey key{job.owner.user, job.key};
    if (!job.key.empty() && (rows.keys.contains(key) || !new_keys.insert(key).second)) {
      return StoreError{key_taken, job.key};
    }
    const bool comes_along =
        std::ranges::any_of(batch.specs, [&](const auto& s) { return s.first == job.spec; });
    if (!comes_along && !rows.specs.contains(job.spec)) return StoreError{conflict, "no spec"};
  }
  return std::nullopt;
}

bool is_stored(const ModelRows& rows, const Batch& batch, JobId id) {
  return rows.jobs.contains(id) ||
         std::ranges::any_of(batch.jobs, [&](const Job& job) { return job.id == id; });
}

Broken broken_events(const ModelRows& rows, const Batch& batch) {
  for (const StoredEvent& event : batch.events) {
    const auto* fact = std::get_if<JobFact>(&event.fact);
    if (fact == nullptr) continue;
    if (!is_stored(rows, batch, fact->job)) return StoreError{conflict, "no such job"};
    const auto stored = rows.jobs.find(fact->job);
    if (stored != rows.jobs.end() && is_cut(rows, stored->second)) {
      return StoreError{conflict, "over, and cut"};
    }
  }
  return std::nullopt;
}

// Follows the batch's changes on a copy of the holdings.
Result<std::map<DeviceId, Holding>, StoreError> held_after(const ModelRows& rows,
                                                           const Batch& batch) {
  std::map<DeviceId, Holding> held = rows.holdings;
  for (const HoldingChange& change : batch.holdings) {
    const auto holding = held.find(change.device);
    if (change.taken) {
      if (holding != held.end()) return StoreError{device_taken, change.device.uuid};
      if (!is_stored(rows, batch, change.key.job)) return StoreError{conflict, "no such job"};
      const bool holds_already = std::ranges::any_of(held, [&](const auto& one) {
        return one.second.key.job == change.key.job && one.second.token != change.token;
      });
      if (holds_already) return StoreError{conflict, "the job holds under another token"};
      held[change.device] = {change.device, change.key, change.token};
    } else {
      if (holding == held.end()) return StoreError{conflict, "nobody holds it"};
      const bool own =
          holding->second.token == change.token && holding->second.key.job == change.key.job;
      if (!own) return StoreError{device_taken, "another's"};
      held.erase(holding);
    }
  }
  return held;
}

bool passes(const JobFilter& filter, const Job& job) {
  if (filter.before && job.id >= *filter.before) return false;
  if (!filter.user.empty() && job.owner.user != filter.user) return false;
  return filter.states.empty() ||
         std::ranges::find(filter.states, job.state) != filter.states.end();
}

template <class Map>
auto values_of(const Map& map) {
  std::vector<typename Map::mapped_type> values;
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

}  // namespace

Result<Epoch, StoreError> ModelStore::take_over() {
  const std::lock_guard lock(rows_->mutex);
  rows_->epoch.value += 1;
  return rows_->epoch;
}

Result<Store::Restored, StoreError> ModelStore::mark_restored(Instant wall) {
  const std::lock_guard lock(rows_->mutex);
  const FencingToken after = rows_->last_token;
  const Skipped to = skip(rows_->epoch, after, wall);
  rows_->epoch = to.epoch;
  if (!planted(Plant::tokens_given_again)) rows_->last_token = to.last_token;
  rows_->lost.push_back({after, rows_->last_token});
  rows_->settling = !planted(Plant::copy_trusted);
  return Restored{rows_->epoch, rows_->lost.back()};
}

Result<Done, StoreError> ModelStore::confirm(Epoch epoch) {
  const std::lock_guard lock(rows_->mutex);
  if (epoch == rows_->epoch && epoch != Epoch{}) return Done{};
  return StoreError{fenced, "another leads"};
}

Result<Loaded, StoreError> ModelStore::load() {
  const std::lock_guard lock(rows_->mutex);
  std::vector<Job> jobs = values_of(rows_->jobs);
  std::erase_if(jobs, [](const Job& job) { return !needs_memory(job); });
  return Loaded{.seq = last_seq(*rows_),
                .at = rows_->events.empty() ? Instant{} : rows_->events.back().at,
                .last_token = rows_->last_token,
                .jobs = std::move(jobs),
                .nodes = values_of(rows_->nodes),
                .holdings = values_of(rows_->holdings),
                .lost = rows_->lost,
                .settling = rows_->settling};
}

Result<Seq, StoreError> ModelStore::append(Epoch epoch, Seq after, const Batch& batch) {
  const std::lock_guard lock(rows_->mutex);
  const bool stale = epoch != rows_->epoch && !planted(Plant::stale_epoch_obeyed);
  if (stale || epoch == Epoch{}) return StoreError{fenced, "another leads"};
  if (after != last_seq(*rows_)) return StoreError{conflict, "the log has moved on"};
  if (const Broken broken = broken_log(*rows_, batch)) return *broken;
  if (const Broken broken = broken_jobs(*rows_, batch)) return *broken;
  if (const Broken broken = broken_events(*rows_, batch)) return *broken;
  TRY(held, held_after(*rows_, batch));

  for (const auto& [digest, spec] : batch.specs) rows_->specs.emplace(digest, spec);
  for (const Job& job : batch.jobs) {
    rows_->jobs.insert_or_assign(job.id, job);
    if (!job.key.empty()) rows_->keys.emplace(SubmitKey{job.owner.user, job.key}, job.id);
  }
  for (const Node& node : batch.nodes) rows_->nodes.insert_or_assign(node.inventory.id, node);
  for (const StoredEvent& event : batch.events) {
    rows_->events.push_back(event);
    const auto* fact = std::get_if<JobFact>(&event.fact);
    if (fact != nullptr) rows_->last_events[fact->job] = event.seq;
  }
  rows_->cut = cut_after(rows_->cut, last_seq(*rows_), batch.events.size(), retention_);
  rows_->holdings = std::move(held);
  rows_->last_token = batch.last_token;
  if (batch.settles) rows_->settling = false;
  return last_seq(*rows_);
}

Result<std::optional<JobSpec>, StoreError> ModelStore::spec(const Digest& digest) {
  const std::lock_guard lock(rows_->mutex);
  const auto spec = rows_->specs.find(digest);
  if (spec == rows_->specs.end()) return std::optional<JobSpec>{};
  return std::optional(spec->second);
}

Result<std::vector<std::optional<Store::KeyRow>>, StoreError> ModelStore::find_keys(
    const std::vector<SubmitKey>& keys) {
  const std::lock_guard lock(rows_->mutex);
  std::vector<std::optional<KeyRow>> found;
  for (const SubmitKey& key : keys) {
    const auto id = rows_->keys.find(key);
    if (id == rows_->keys.end()) {
      found.emplace_back();
    } else {
      found.push_back(KeyRow{id->second, rows_->jobs.at(id->second).said});
    }
  }
  return found;
}

Result<std::vector<Job>, StoreError> ModelStore::find_jobs(const std::vector<JobId>& ids) {
  const std::lock_guard lock(rows_->mutex);
  std::vector<Job> jobs;
  for (const JobId id : std::set(ids.begin(), ids.end())) {
    if (const auto job = rows_->jobs.find(id); job != rows_->jobs.end()) {
      jobs.push_back(job->second);
    }
  }
  return jobs;
}

Result<std::optional<JobRecord>, StoreError> ModelRecords::job(JobId id) {
  const std::lock_guard lock(rows_->mutex);
  const auto job = rows_->jobs.find(id);
  if (job == rows_->jobs.end()) return std::optional<JobRecord>{};
  return std::optional(JobRecord{job->second, rows_->specs.at(job->second.spec)});
}

Result<std::vector<JobRecord>, StoreError> ModelRecords::jobs(const JobFilter& filter) {
  const std::lock_guard lock(rows_->mutex);
  std::vector<JobRecord> records;
  for (auto row = rows_->jobs.rbegin(); row != rows_->jobs.rend(); ++row) {
    if (records.size() >= filter.limit) break;
    const Job& job = row->second;
    if (passes(filter, job)) records.push_back({job, rows_->specs.at(job.spec)});
  }
  return records;
}

Result<std::vector<StoredEvent>, StoreError> ModelRecords::events(JobId job, Seq after,
                                                                  std::size_t limit) {
  const std::lock_guard lock(rows_->mutex);
  std::vector<StoredEvent> events;
  const auto row = rows_->jobs.find(job);
  if (row != rows_->jobs.end() && is_cut(*rows_, row->second) && limit > 0) {
    if (after < last_event(*rows_, job)) return cut_at(rows_->cut);
    return events;
  }
  for (const StoredEvent& event : rows_->events) {
    if (events.size() >= limit) break;
    const auto* fact = std::get_if<JobFact>(&event.fact);
    if (fact != nullptr && fact->job == job && event.seq > after) events.push_back(event);
  }
  return events;
}

Result<std::vector<StoredEvent>, StoreError> ModelRecords::log(Seq after, std::size_t limit) {
  const std::lock_guard lock(rows_->mutex);
  if (after < rows_->cut && limit > 0) return cut_at(rows_->cut);
  std::vector<StoredEvent> events;
  for (std::size_t i = after.value; i < rows_->events.size() && events.size() < limit; ++i) {
    events.push_back(rows_->events[i]);
  }
  return events;
}

Result<std::vector<Node>, StoreError> ModelRecords::nodes() {
  const std::lock_guard lock(rows_->mutex);
  return values_of(rows_->nodes);
}

Result<std::vector<Holding>, StoreError> ModelRecords::holdings() {
  const std::lock_guard lock(rows_->mutex);
  return values_of(rows_->holdings);
}

}  // namespace keel
