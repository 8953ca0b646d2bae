// The canonical encoding of docs/idempotency.md and the digests over it.
//
//   encoding  "keel" version:1 kind:1 field*          kind: 's' said, 'n' normalised
//   field     tag:1 length:4 value                    tags ascending; a field not said is left out
//   value     text: its bytes | integer: 8 bytes | list: item* | map: (key value)* by key |
//             record: field*
//   item      length:4 bytes                          keys and values of maps likewise
//
// Numbers are big-endian. An empty list or map cannot be told from one not said, and is left out.
#include <openssl/evp.h>

#include "base/check.h"
#include "wire/quantity.h"
#include "wire/spec.h"

namespace keel {
namespace {

constexpr char format_version = 1;

// Tags are those of proto/keel/v1/spec.proto.
enum class Tag : char {
  name = 1,
  labels = 2,
  program = 3,
  args = 4,
  env = 5,
  files = 6,
  gang = 7,
  cpu = 8,
  memory = 9,
  time_limit = 10,
  grace = 11,
  stop_signal = 12,
  retries = 13,
  start_deadline = 14,
};
enum class GangTag : char { tasks = 1, gpus_per_task = 2, gpu_model = 3 };

void add_number(std::string& to, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    to += static_cast<char>((number >> shift) & 0xff);
  }
}

std::string integer(std::int64_t number) {
  std::string value;
  add_number(value, static_cast<std::uint64_t>(number), 8);
  return value;
}

void add_item(std::string& to, std::string_view bytes) {
  check(bytes.size() <= UINT32_MAX, "a spec's parts are shorter than 4 GiB");
  add_number(to, bytes.size(), 4);
  to += bytes;
}

void add_field(std::string& to, char tag, std::string_view value) {
  to += tag;
  add_item(to, value);
}

void add_text(std::string& to, Tag tag, const std::optional<std::string>& text) {
  if (text) add_field(to, static_cast<char>(tag), *text);
}

void add_integer(std::string& to, Tag tag, std::optional<std::int64_t> number) {
  if (number) add_field(to, static_cast<char>(tag), integer(*number));
}

void add_list(std::string& to, Tag tag, const std::vector<std::string>& items) {
  std::string value;
  for (const std::string& item : items) add_item(value, item);
  if (!items.empty()) add_field(to, static_cast<char>(tag), value);
}

void add_map(std::string& to, Tag tag, const std::map<std::string, std::string>& members) {
  std::string value;
  for (const auto& [key, text] : members) {
    add_item(value, key);
    add_item(value, text);
  }
  if (!members.empty()) add_field(to, static_cast<char>(tag), value);
}

void add_files(std::string& to, const std::vector<TakenFile>& files) {
  std::string value;
  for (const TakenFile& file : files) {
    add_item(value, file.path);
    value.append(file.digest.bytes.begin(), file.digest.bytes.end());
    value += file.executable ? '\1' : '\0';
  }
  if (!files.empty()) add_field(to, static_cast<char>(Tag::files), value);
}

void add_gang(std::string& to, const SaidGang& gang) {
  std::string value;
  if (gang.tasks) add_field(value, static_cast<char>(GangTag::tasks), integer(*gang.tasks));
  if (gang.gpus_per_task) {
    add_field(value, static_cast<char>(GangTag::gpus_per_task), integer(*gang.gpus_per_task));
  }
  if (gang.gpu_model) add_field(value, static_cast<char>(GangTag::gpu_model), *gang.gpu_model);
  if (!value.empty()) add_field(to, static_cast<char>(Tag::gang), value);
}

std::optional<std::int64_t> us_of(const std::optional<Duration>& duration) {
  return duration ? std::optional(duration->us) : std::nullopt;
}

std::string encode(char kind, const SaidSpec& said) {
  std::string bytes = "keel";
  bytes += format_version;
  bytes += kind;
  add_text(bytes, Tag::name, said.name);
  add_map(bytes, Tag::labels, said.labels);
  add_text(bytes, Tag::program, said.program);
  add_list(bytes, Tag::args, said.args);
  add_map(bytes, Tag::env, said.env);
  add_files(bytes, said.files);
  add_gang(bytes, said.gang);
  if (said.cpu_per_task) add_integer(bytes, Tag::cpu, said.cpu_per_task->count);
  if (said.memory_per_task) add_integer(bytes, Tag::memory, said.memory_per_task->count);
  add_integer(bytes, Tag::time_limit, us_of(said.time_limit));
  add_integer(bytes, Tag::grace, us_of(said.grace));
  // By its word: numbers of signals differ between processors.
  if (said.stop_signal) add_text(bytes, Tag::stop_signal, print_stop_signal(*said.stop_signal));
  if (said.retries) add_integer(bytes, Tag::retries, *said.retries);
  add_integer(bytes, Tag::start_deadline, us_of(said.start_deadline));
  return bytes;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  Digest digest;
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.bytes.data(), &length, EVP_sha256(), nullptr);
  check(done == 1 && length == digest.bytes.size(), "SHA-256 is always there");
  return digest;
}

Digest said_digest(const SaidSpec& said) { return sha256(encode('s', said)); }

Digest spec_digest(const JobSpec& spec) {
  return sha256(encode('n', SaidSpec{.name = spec.name,
                                     .labels = spec.labels,
                                     .program = spec.program,
                                     .args = spec.args,
                                     .env = spec.env,
                                     .files = spec.files,
                                     .gang = {.tasks = spec.gang.tasks,
                                              .gpus_per_task = spec.gang.gpus_per_task,
                                              .gpu_model = spec.gang.gpu_model},
                                     .cpu_per_task = spec.cpu_per_task,
                                     .memory_per_task = spec.memory_per_task,
                                     .time_limit = spec.time_limit,
                                     .grace = spec.grace,
                                     .stop_signal = spec.stop_signal,
                                     .retries = spec.retries,
                                     .start_deadline = spec.start_deadline}));
}

}  // namespace keel
