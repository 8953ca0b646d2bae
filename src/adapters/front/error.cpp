#include "adapters/front/error.h"

#include <array>

#include "base/check.h"
#include "wire/text.h"

namespace keel {

std::string_view print(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::unauthenticated: return "unauthenticated";
    case ErrorCode::denied: return "denied";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::busy: return "busy";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::internal: return "internal";
  }
  check(false, "an error code is one of its enumerators");
  return {};
}

ErrorCode code_of(const pb::ApiError& error) {
  for (std::size_t n = 0; n < error_code_count; ++n) {
    auto code = static_cast<ErrorCode>(n);
    if (error.code() == print(code)) return code;
  }
  return ErrorCode::internal;
}

pb::ApiError refuse(ErrorCode code, const Fault& fault) {
  pb::ApiError error;
  error.set_code(std::string(print(code)));
  error.set_field(as_utf8(fault.field));
  error.set_value(shortened(fault.value));
  error.set_limit(std::string(fault.limit));
  error.set_help(std::string(fault.help));
  return error;
}

pb::ApiError store_unreadable() {
  return refuse(ErrorCode::unavailable,
                {"", "", "", "The store cannot be read just now. Try again later."});
}

pb::ApiError events_unreadable(const StoreError& error, Seq after) {
  if (error.code != StoreError::Code::cut) return store_unreadable();
  const std::string first = std::to_string(error.first_kept.value);
  return refuse(ErrorCode::not_found,
                {"after", std::to_string(after.value), "events from " + first + " on",
                 "The job is over, and its events are no longer kept: the log begins at event " +
                     first + ". Its record and its outcome are."});
}

pb::ApiError refuse(const std::vector<FieldError>& faults) {
  check(!faults.empty(), "a refused request has a fault");
  pb::ApiError first;
  for (const FieldError& fault : faults) {
    pb::ApiError error =
        refuse(ErrorCode::invalid, {fault.field, fault.value, fault.limit, fault.help});
    if (first.code().empty()) {
      first = std::move(error);
    } else {
      *first.add_also() = std::move(error);
    }
  }
  return first;
}

}  // namespace keel
