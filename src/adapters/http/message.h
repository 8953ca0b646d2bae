// A request's parts -> the protobuf message that gRPC would have carried, by the same rules as a
// job file: unknown fields, wrong types and repeated fields are refused with a pointer.
#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string_view>

#include "adapters/front/error.h"
#include "adapters/http/target.h"

namespace keel {

// Fills `request` from a query. `path_field` is the field that the path has given, which a query
// may not name; empty where there is none.
std::optional<pb::ApiError> fill_from_query(google::protobuf::Message& request,
                                            const Target& target, std::string_view path_field);

// Fills `request` from a JSON body, which must be an object.
std::optional<pb::ApiError> fill_from_body(google::protobuf::Message& request,
                                           std::string_view body);

}  // namespace keel
