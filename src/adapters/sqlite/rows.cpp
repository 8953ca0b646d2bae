#include "adapters/sqlite/rows.h"

#include <algorithm>
#include <utility>

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

}  // namespace

Result<std::string, StoreError> to_blob(const Job& job) {
  std::string blob = serialised(to_pb(job));
  if (const auto back = job_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const Node& node) {
  std::string blob = serialised(to_pb(node));
  if (const auto back = node_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const StoredEvent& event) {
  std::string blob = serialised(to_pb(event));
  if (const auto back = event_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<std::string, StoreError> to_blob(const JobSpec& spec) {
  std::string blob = serialised(to_pb(spec));
  if (const auto back = spec_of(blob); !back) return unstorable(back.error());
  return blob;
}

Result<Job, StoreError> job_of(std::string_view blob) {
  pb::Job message;
  if (!parsed(message, blob)) return unreadable("job", "not a message");
  auto job = from_pb(message);
  if (!job) return unreadable("job", job.error().what);
  return *std::move(job);
}

Result<Node, StoreError> node_of(std::string_view blob) {
  pb::Node message;
  if (!parsed(message, blob)) return unreadable("node", "not a message");
  auto node = from_pb(message);
  if (!node) return unreadable("node", node.error().what);
  return *std::move(node);
}

Result<StoredEvent, StoreError> event_of(std::string_view blob) {
  pb::Event message;
  if (!parsed(message, blob)) return unreadable("event", "not a message");
  auto event = from_pb(message);
  if (!event) return unreadable("event", event.error().what);
  return *std::move(event);
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
