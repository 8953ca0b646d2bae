// Model values <-> the bytes in a `blob` column. Bytes that cannot be read are `unreadable`, naming
// the row: somebody else wrote there, or the disk did.
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

std::string to_blob(const Job& job);
std::string to_blob(const Node& node);
std::string to_blob(const StoredEvent& event);
std::string to_blob(const JobSpec& spec);

Result<Job, StoreError> job_of(std::string_view blob);
Result<Node, StoreError> node_of(std::string_view blob);
Result<StoredEvent, StoreError> event_of(std::string_view blob);
Result<JobSpec, StoreError> spec_of(std::string_view blob);

// A digest's 32 bytes as they stand in a column, and back.
std::string_view bytes_of(const Digest& digest);
Result<Digest, StoreError> digest_of(std::string_view bytes);

}  // namespace keel::sqlite
