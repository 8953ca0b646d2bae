#include "apps/agent/present.h"

namespace keel {

NodeInventory Present::look() {
  NodeInventory now = host_;
  now.devices = gpus_.devices();
  now.warnings = limits_;
  for (std::string& warning : gpus_.warnings()) now.warnings.push_back(std::move(warning));
  if (auto full = gauge_.look(disk_room(state_))) {
    now.condition = NodeCondition::disk_full;
    now.warnings.push_back(*std::move(full));
  }
  for (const std::string& task : runtime_.not_understood()) {
    now.warnings.push_back("left alone: task " + task);
  }
  for (const std::string& warning : now.warnings) {
    if (!warned_.contains(warning)) news_.push_back(warning);
  }
  warned_ = {now.warnings.begin(), now.warnings.end()};
  return now;
}

}  // namespace keel
