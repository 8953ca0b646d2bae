// Model values <-> rows. A `blob` is a protobuf message (proto/keel/v1) without the fields that
// have columns of their own beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "adapters/sqlite/database.h"
#include "base/result.h"
#include "model/event.h"
#include "model/job.h"
#include "model/node.h"
#include "model/spec.h"
#include "ports/store.h"

namespace keel::sqlite {

// Reads back what it is about to give, and answers `conflict`, naming the field, where it cannot: a
// row that nobody can read, say of a name that is no UTF-8, would keep the next start from
// happening.
Result<std::string, StoreError> to_blob(const Job& job);
Result<std::string, StoreError> to_blob(const Node& node);
Result<std::string, StoreError> to_blob(const StoredEvent& event);
Result<std::string, StoreError> to_blob(const JobSpec& spec);

// `unreadable` where somebody else wrote those bytes, or the disk did.
Result<Job, StoreError> job_of(const Query& row);  // id, state, said, spec, blob
Result<Node, StoreError> node_of(std::string_view blob);
Result<StoredEvent, StoreError> event_of(const Query& row);  // seq, at_us, job, blob
Result<JobSpec, StoreError> spec_of(std::string_view blob);

// The events that `query` gives, each as event_of wants it.
Result<std::vector<StoredEvent>, StoreError> events_of(Query& query);

// A digest's 32 bytes as they stand in a column, and back.
std::string_view bytes_of(const Digest& digest);
Result<Digest, StoreError> digest_of(std::string_view bytes);

}  // namespace keel::sqlite
