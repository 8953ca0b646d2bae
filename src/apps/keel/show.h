// How jobs and nodes look to people: text made of what the API said, and of nothing else.
#pragma once

#include <string>
#include <vector>

#include "keel/v1/api.pb.h"
#include "model/units.h"

namespace keel::cli {

struct Look {
  Instant now{};  // what ages are measured to
  bool wide{};
};

std::string show_jobs(const v1::ListJobsResponse& jobs, const Look& look);
std::string show_nodes(const v1::ListNodesResponse& nodes, const Look& look);
std::string show_job(const v1::JobView& view, const Look& look);

// "h100-80gb (emulated)" for "emulated:h100-80gb".
std::string model_words(std::string_view model);

}  // namespace keel::cli
