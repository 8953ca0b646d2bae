// The pieces that the conversions of convert.h share: one check each, naming the field that failed.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keel/v1/job.pb.h"
#include "keel/v1/node.pb.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/reason.h"
#include "model/spec.h"
#include "model/units.h"
#include "wire/bad_bytes.h"

namespace keel {

// "Job.state: 99 is no known state": `field` and `why` are joined.
BadBytes bad(std::string_view field, std::string_view why);

// Every enum of ours travels as its own number plus one, so that 0 stays "unspecified", which is
// refused. `last` is our last enumerator.
Result<std::uint8_t, BadBytes> enumerator_from(int number, int last, std::string_view field);

// Message of the wire -> ours, for values that are one field each.
Result<JobId, BadBytes> job_from(const std::string& text, std::string_view field);
Result<NodeId, BadBytes> node_from(const std::string& text, std::string_view field);
Result<DeviceId, BadBytes> device_from(const std::string& uuid, std::string_view field);
Result<std::vector<DeviceId>, BadBytes> devices_from(
    const google::protobuf::RepeatedPtrField<std::string>& uuids, std::string_view field);
Result<Digest, BadBytes> digest_from(const std::string& bytes, std::string_view field);
Result<std::uint16_t, BadBytes> port_from(std::uint32_t number, std::string_view field);
Result<std::int64_t, BadBytes> amount_from(std::int64_t number, std::string_view field);
Result<Reason, BadBytes> reason_from(const std::string& word, std::string_view field);

std::string bytes_of(const Digest& digest);
std::string word_of(Reason reason);  // empty for none
void add_devices(google::protobuf::RepeatedPtrField<std::string>& uuids,
                 const std::vector<DeviceId>& devices);

v1::ForeignTask foreign_to_pb(const ForeignTask& task);
Result<std::vector<ForeignTask>, BadBytes> foreign_from(
    const google::protobuf::RepeatedPtrField<v1::ForeignTask>& tasks, std::string_view field);

v1::Shape shape_to_pb(const Shape& shape);
Result<Shape, BadBytes> shape_from_pb(const v1::Shape& shape, std::string_view field);

}  // namespace keel
