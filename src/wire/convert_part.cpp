#include "wire/convert_part.h"

#include <algorithm>

#include "model/limits.h"
#include "wire/convert.h"
#include "wire/text.h"

namespace keel {
namespace {

// Ids of nodes and devices are shown, logged and used as map keys: a name that hides something is
// no name.
bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::name_bytes_max && printable(text) == text;
}

}  // namespace

BadBytes bad(std::string_view field, std::string_view why) {
  return {std::string(field).append(": ").append(why)};
}

Result<std::uint8_t, BadBytes> enumerator_from(int number, int last, std::string_view field) {
  if (number < 1 || number > last + 1) {
    return bad(field, std::to_string(number) + " is not known here");
  }
  return static_cast<std::uint8_t>(number - 1);
}

Result<JobId, BadBytes> job_from(const std::string& text, std::string_view field) {
  const auto id = parse_job_id(text);
  if (!id) return bad(field, "\"" + shortened(text) + "\" is no job id");
  return *id;
}

Result<NodeId, BadBytes> node_from(const std::string& text, std::string_view field) {
  if (!is_plain_name(text)) return bad(field, "\"" + shortened(text) + "\" is no node's name");
  return NodeId{text};
}

Result<DeviceId, BadBytes> device_from(const std::string& uuid, std::string_view field) {
  if (!is_plain_name(uuid)) return bad(field, "\"" + shortened(uuid) + "\" is no device's uuid");
  return DeviceId{uuid};
}

Result<std::vector<DeviceId>, BadBytes> devices_from(
    const google::protobuf::RepeatedPtrField<std::string>& uuids, std::string_view field) {
  std::vector<DeviceId> devices;
  devices.reserve(static_cast<std::size_t>(uuids.size()));
  for (const std::string& uuid : uuids) {
    TRY(device, device_from(uuid, field));
    devices.push_back(std::move(device));
  }
  return devices;
}

Result<Digest, BadBytes> digest_from(const std::string& bytes, std::string_view field) {
  Digest digest;
  if (bytes.size() != digest.bytes.size()) {
    return bad(field, std::to_string(bytes.size()) + " bytes are no SHA-256 digest");
  }
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

Result<std::uint16_t, BadBytes> port_from(std::uint32_t number, std::string_view field) {
  if (number > UINT16_MAX) return bad(field, std::to_string(number) + " is no port");
  return static_cast<std::uint16_t>(number);
}

Result<std::int64_t, BadBytes> amount_from(std::int64_t number, std::string_view field) {
  if (number < 0) return bad(field, std::to_string(number) + " is below 0");
  return number;
}

Result<Reason, BadBytes> reason_from(const std::string& word, std::string_view field) {
  if (word.empty()) return Reason::none;
  const auto reason = parse_reason(word);
  if (!reason) return bad(field, "\"" + shortened(word) + "\" is no known reason");
  return *reason;
}

std::string bytes_of(const Digest& digest) { return {digest.bytes.begin(), digest.bytes.end()}; }

std::string word_of(Reason reason) {
  return reason == Reason::none ? std::string() : std::string(print(reason));
}

void add_devices(google::protobuf::RepeatedPtrField<std::string>& uuids,
                 const std::vector<DeviceId>& devices) {
  for (const DeviceId& device : devices) *uuids.Add() = device.uuid;
}

v1::Shape shape_to_pb(const Shape& shape) {
  v1::Shape sent;
  sent.set_tasks(shape.gang.tasks);
  sent.set_gpus_per_task(shape.gang.gpus_per_task);
  sent.set_gpu_model(shape.gang.gpu_model);
  if (shape.cpu_per_task) sent.set_cpu_millicores_per_task(shape.cpu_per_task->count);
  if (shape.memory_per_task) sent.set_memory_bytes_per_task(shape.memory_per_task->count);
  return sent;
}

Result<Shape, BadBytes> shape_from_pb(const v1::Shape& sent, std::string_view field) {
  Shape shape;
  shape.gang = Gang{
      .tasks = sent.tasks(), .gpus_per_task = sent.gpus_per_task(), .gpu_model = sent.gpu_model()};
  const std::string prefix = std::string(field) + ".";
  if (sent.has_cpu_millicores_per_task()) {
    TRY(cpu, amount_from(sent.cpu_millicores_per_task(), prefix + "cpu_millicores_per_task"));
    shape.cpu_per_task = Millicores{cpu};
  }
  if (sent.has_memory_bytes_per_task()) {
    TRY(memory, amount_from(sent.memory_bytes_per_task(), prefix + "memory_bytes_per_task"));
    shape.memory_per_task = Bytes{memory};
  }
  return shape;
}

std::optional<Reason> parse_reason(std::string_view word) {
  for (std::size_t i = 0; i < reason_count; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (print(reason) == word) return reason;
  }
  return std::nullopt;
}

}  // namespace keel
