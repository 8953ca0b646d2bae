#include "adapters/sqlite/rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "wire/convert.h"

namespace keel::sqlite {
namespace {

std::string serialised(const google::protobuf::MessageLite& message) {
  std::string bytes;
  check(message.SerializeToString(&bytes), "a row fits into a message");
  return bytes;
}

StoreError unreadable(const char* what, const std::string& why) {
  return {StoreError::Code::unreadable, std::string("a stored ") + what + ": " + why};
}

StoreError unstorable(const StoreError& read_back) {
  return {StoreError::Code::conflict, "could not be read back: " + read_back.detail};
}

bool parsed(google::protobuf::MessageLite& message, std::string_view blob) {
  return message.ParseFromArray(blob.data(), static_cast<int>(blob.size()));
}

// What columns hold of a value. Views live as long as the row.
struct JobColumns {
  JobId id;
  std::int64_t state{};
  std::string_view said;
  std::string_view spec;
};
struct EventColumns {
  Seq seq;
  Instant at;
  std::optional<JobId> job;
};

Result<Job, StoreError> job_from(const JobColumns& columns, std::string_view blob) {
  pb::Job message;
  if (!parsed(message, blob)) return unreadable("job", "not a message");
  if (columns.state < 0 || columns.state >= static_cast<std::int64_t>(job_state_count)) {
    return unreadable("job", "state " + std::to_string(columns.state));
  }
  message.set_id(print(columns.id));
  message.set_state(to_pb(static_cast<JobState>(columns.state)));
  message.set_said(std::string(columns.said));
  message.set_spec(std::string(columns.spec));
  auto job = from_pb(message);
  if (!job) return unreadable("job", job.error().what);
  return *std::move(job);
}

Result<StoredEvent, StoreError> event_from(const EventColumns& columns, std::string_view blob) {
  pb::Event message;
  if (!parsed(message, blob)) return unreadable("event", "not a message");
  message.set_seq(columns.seq.value);
  message.set_at_us(columns.at.us);
  if (columns.job) message.set_job(print(*columns.job));
  auto event = from_pb(message);
  if (!event) return unreadable("event", event.error().what);
  return *std::move(event);
}

}  // namespace

Result<std::string, StoreError> to_blob(const Job& job) {
  pb::Job message = to_pb(job);
  message.clear_id();
  message.clear_state();
  message.clear_said();
  message.clear_spec();
  std::string blob = serialised(message);
  const JobColumns columns{job.id, static_cast<std::int64_t>(job.state), bytes_of(job.said),
                           bytes_of(job.spec)};
  if (const auto back = job_from(columns, blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const Node& node) {
  std::string blob = serialised(to_pb(node));
  if (const auto back = node_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const StoredEvent& event) {
  pb::Event message = to_pb(event);
  message.clear_seq();
  message.clear_at_us();
  message.clear_job();
  std::string blob = serialised(message);
  const auto* fact = std::get_if<JobFact>(&event.fact);
  const EventColumns columns{event.seq, event.at,
                             fact != nullptr ? std::optional(fact->job) : std::nullopt};
  if (const auto back = event_from(columns, blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const JobSpec& spec) {
  std::string blob = serialised(to_pb(spec));
  if (const auto back = spec_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<Job, StoreError> job_of(const Query& row) {
  const JobColumns columns{
      {from_order(row.integer(0))}, row.integer(1), row.bytes(2), row.bytes(3)};
  return job_from(columns, row.bytes(4));
}

Result<Node, StoreError> node_of(std::string_view blob) {
  pb::Node message;
  if (!parsed(message, blob)) return unreadable("node", "not a message");
  auto node = from_pb(message);
  if (!node) return unreadable("node", node.error().what);
  return *std::move(node);
}

Result<StoredEvent, StoreError> event_of(const Query& row) {
  const EventColumns columns{
      {static_cast<std::uint64_t>(row.integer(0))},
      {row.integer(1)},
      row.is_null(2) ? std::nullopt : std::optional(JobId{from_order(row.integer(2))})};
  return event_from(columns, row.bytes(3));
}

Result<std::vector<StoredEvent>, StoreError> events_of(Query& query) {
  std::vector<StoredEvent> events;
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return events;
    TRY(event, event_of(query));
    events.push_back(std::move(event));
  }
}

Result<JobSpec, StoreError> spec_of(std::string_view blob) {
  pb::JobSpec message;
  if (!parsed(message, blob)) return unreadable("spec", "not a message");
  auto spec = normalised_from_pb(message);
  if (!spec) return unreadable("spec", spec.error().what);
  return *std::move(spec);
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

Result<Digest, StoreError> digest_of(std::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.bytes.size()) {
    return unreadable("digest", std::to_string(bytes.size()) + " bytes");
  }
  std::ranges::transform(bytes, digest.bytes.begin(),
                         [](char c) { return static_cast<std::uint8_t>(c); });
  return digest;
}

}  // namespace keel::sqlite
