#include "adapters/grpc/admission.h"

#include <string>
#include <string_view>

#include "wire/tree.h"

namespace keel {
namespace {

// gRPC clients accept 8 KiB of metadata, and base64 makes four bytes of three.
constexpr std::size_t details_bytes_max = 4 << 10;

grpc::StatusCode code_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::unauthenticated: return grpc::StatusCode::UNAUTHENTICATED;
    case ErrorCode::denied: return grpc::StatusCode::PERMISSION_DENIED;
    case ErrorCode::not_found: return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::conflict: return grpc::StatusCode::ALREADY_EXISTS;
    case ErrorCode::too_large: return grpc::StatusCode::OUT_OF_RANGE;
    case ErrorCode::busy: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::unavailable: return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::internal: return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

std::string_view view(grpc::string_ref text) { return {text.data(), text.size()}; }

}  // namespace

grpc::Status status_of(const pb::ApiError& error) {
  std::string details = print_json(error);
  if (details.size() > details_bytes_max) {
    pb::ApiError first = error;
    first.clear_also();
    details = print_json(first);
  }
  std::string message = error.help();
  if (!error.field().empty()) message = error.field() + ": " + message;
  return {code_for(code_of(error)), message, details};
}

Result<Caller, pb::ApiError> Admission::user(const grpc::CallbackServerContext& call) const {
  auto peer = peers_.find(call.peer());
  if (!peer) {
    return refuse(ErrorCode::unauthenticated,
                  {"", "", "", "Nobody knows where this connection comes from."});
  }
  if (auto wrong = Gate::wrong_host(*peer, view(call.ExperimentalGetAuthority()))) return *wrong;
  const auto& headers = call.client_metadata();
  auto sent = [&](const char* name) {
    auto header = headers.find(name);
    return header == headers.end() ? std::string_view() : view(header->second);
  };
  if (headers.find("origin") != headers.end()) {
    if (auto wrong = Gate::wrong_origin(*peer, sent("origin"))) return *wrong;
  }
  return gate_.admit(*peer, sent("authorization"));
}

Result<Caller, pb::ApiError> Admission::agent(const grpc::CallbackServerContext& call) const {
  TRY(caller, user(call));
  if (gate_.may_be_agent(caller)) return caller;
  return refuse(ErrorCode::denied,
                {"", "", "root, or the user of keeld", "Only agents may use the agents' service."});
}

}  // namespace keel
