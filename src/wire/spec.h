// What a person said -> SaidSpec, checked field by field against model/limits.h; and the digests by
// which submissions and specs are compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keel/v1/spec.pb.h"
#include "model/ids.h"
#include "model/spec.h"

namespace keel {

struct FieldError {
  std::string field;  // "gang.gpus_per_task", "args[3]"
  std::string value;  // what was given, shortened to 80 bytes, control characters escaped
  std::string limit;  // "0 to 1024"
  std::string help;   // one sentence
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// Every fault of the spec, or its meaning. Deterministic.
Result<SaidSpec, std::vector<FieldError>> parse_spec(const v1::JobSpec& spec);

// What a field that is a number may be: "0 to 1024" for "gang.gpus_per_task"; empty for all others.
std::string number_limit(std::string_view field);

// Over our own canonical encoding (docs/idempotency.md): equal for specs that say the same,
// whatever the order, spacing or units they were written in; a changed default changes no digest.
Digest said_digest(const SaidSpec& said);

// Names the row of a normalised spec.
Digest spec_digest(const JobSpec& spec);

Digest sha256(std::string_view bytes);

}  // namespace keel
