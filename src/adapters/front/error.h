// How a request is refused: one form for every door.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/v1/api.pb.h"
#include "ports/store.h"
#include "wire/spec.h"

namespace keel {

namespace pb = ::keel::v1;

enum class ErrorCode : std::uint8_t {
  invalid,          // change the request
  unauthenticated,  // say who you are: with the operator's token, or at the local door
  denied,           // not yours to ask
  not_found,        // no such job, task or file
  conflict,         // the idempotency key has made another job
  too_large,        // make it smaller
  busy,             // too many ask at once: nothing was done, try again
  unavailable,      // may or may not have been done: ask again with the same key
  internal,         // our bug
};
inline constexpr std::size_t error_code_count = 9;

// The word in ApiError.code.
std::string_view print(ErrorCode code);

// `internal` for a word that is none of ours.
ErrorCode code_of(const pb::ApiError& error);

// What is wrong, in the words of ApiError. `value` is what the caller sent and may be anything.
struct Fault {
  std::string_view field;
  std::string_view value;
  std::string_view limit;
  std::string_view help;
};
pb::ApiError refuse(ErrorCode code, const Fault& fault);

// The store's detail is for the operator, not for callers.
pb::ApiError store_unreadable();

// For a failure to read events after `after`: where they are no longer kept, it says so.
pb::ApiError events_unreadable(const StoreError& error, Seq after);

// All faults of one request as one `invalid`. There must be at least one.
pb::ApiError refuse(const std::vector<FieldError>& faults);

}  // namespace keel
