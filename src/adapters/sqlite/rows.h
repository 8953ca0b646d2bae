// Model values <-> the bytes in a `blob` column.
#pragma once

#include <string>
#include <string_view>

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
Result<Job, StoreError> job_of(std::string_view blob);
Result<Node, StoreError> node_of(std::string_view blob);
Result<StoredEvent, StoreError> event_of(std::string_view blob);
Result<JobSpec, StoreError> spec_of(std::string_view blob);

// A digest's 32 bytes as they stand in a column, and back.
std::string_view bytes_of(const Digest& digest);
Result<Digest, StoreError> digest_of(std::string_view bytes);

}  // namespace keel::sqlite
