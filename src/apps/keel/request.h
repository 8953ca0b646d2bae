// From what was typed to what is sent: the spec, and the local files that go along. Reads files,
// sends nothing.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/keel/command.h"
#include "base/result.h"
#include "keel/v1/spec.pb.h"
#include "model/ids.h"
#include "wire/spec.h"

namespace keel::cli {

// Where a submission is made from.
struct Surroundings {
  std::filesystem::path directory{};  // the current one, absolute
  std::string path{};                 // the value of PATH
};

struct Upload {
  std::filesystem::path from{};
  Digest digest{};  // of its bytes when it was looked at
};

struct Plan {
  v1::JobSpec spec{};  // complete: as it will be sent
  std::vector<Upload> uploads{};
};

// Every fault of the submission, or what to do. Nothing was sent in either case.
Result<Plan, std::vector<FieldError>> plan_submission(const Said& said,
                                                      const Surroundings& surroundings);

}  // namespace keel::cli
