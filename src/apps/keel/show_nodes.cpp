#include <map>
#include <set>

#include "apps/keel/show.h"
#include "apps/keel/table.h"
#include "apps/keel/words.h"
#include "model/node.h"
#include "wire/convert.h"
#include "wire/quantity.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

struct Models {
  std::map<std::string, int> counts;  // devices by what they are called
  std::set<std::string> ills;         // "dirty", "failed"
};

Models models_of(const v1::NodeInventory& inventory) {
  Models models;
  for (const v1::Device& device : inventory.devices()) {
    ++models.counts[device.model() + (device.emulated() ? " (emulated)" : "")];
    const bool known = device.health() >= v1::HEALTHY && device.health() <= v1::DEVICE_FAILED;
    if (known && device.health() != v1::HEALTHY) {
      const auto health = static_cast<DeviceHealth>(static_cast<int>(device.health()) - 1);
      models.ills.insert(std::string(print(health)));
    }
  }
  return models;
}

std::string comma_list(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::string model_list(const Models& models) {
  std::string text;
  for (const auto& [name, count] : models.counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + "x " + name;
  }
  return text;
}

bool is_fit(const v1::Node& node) {
  const v1::NodeCondition condition = node.inventory().condition();
  return condition == v1::NODE_CONDITION_UNSPECIFIED || condition == v1::FIT;
}

// What a person has to know first: that it is not heard, or else what ails it.
std::string state_of(const v1::Node& node) {
  if (node.state() == v1::UNREACHABLE) return "unreachable";
  if (node.state() != v1::READY) return "-";
  if (node.foreign_size() > 0) return "foreign_tasks";
  if (is_fit(node)) return "ready";
  const bool known = node.inventory().condition() == v1::DISK_FULL;
  return known ? std::string(print(NodeCondition::disk_full)) : "unfit";
}

// What could be given to a job now: nothing of a node that is not heard or not fit.
std::string free_of(const v1::NodeView& view) {
  const v1::Node& node = view.node();
  if (node.state() != v1::READY || !is_fit(node) || node.foreign_size() > 0) return "";
  std::set<std::string> held;
  for (const v1::Holding& holding : view.held()) held.insert(holding.device());
  int free = 0;
  for (const v1::Device& device : view.node().inventory().devices()) {
    if (device.health() == v1::HEALTHY && !held.contains(device.uuid())) ++free;
  }
  return std::to_string(free);
}

std::string foreign_line(const v1::ForeignTask& task) {
  return "task " + std::to_string(task.task()) + " of attempt " + std::to_string(task.attempt()) +
         " of job " + printable(task.job()) +
         " runs there, and this control plane does not know of it (token " +
         std::to_string(task.token()) + "); nothing is placed beside it";
}

}  // namespace

std::string show_nodes(const v1::ListNodesResponse& nodes, const Look& look) {
  std::vector<std::string> head{"NODE",  "STATE", "SINCE",  "GPUS", "FREE",
                                "MODEL", "CPU",   "MEMORY", "JOBS"};
  if (look.wide) head.insert(head.end(), {"ADDRESS", "HEALTH"});
  Table table(head);
  std::string warnings;
  for (const v1::NodeView& view : nodes.nodes()) {
    const v1::NodeInventory& inventory = view.node().inventory();
    const Models models = models_of(inventory);
    std::set<std::string> jobs;
    for (const v1::Holding& holding : view.held()) jobs.insert(holding.job());
    std::vector<std::string> row{inventory.name(),
                                 state_of(view.node()),
                                 age(look.now - Instant{view.node().since_us()}),
                                 std::to_string(inventory.devices_size()),
                                 or_dash(free_of(view)),
                                 or_dash(model_list(models)),
                                 print(Millicores{inventory.cpu_millicores()}),
                                 about(Bytes{inventory.memory_bytes()}),
                                 or_dash(comma_list(jobs))};
    if (look.wide) {
      row.insert(row.end(), {or_dash(inventory.address()),
                             models.ills.empty() ? "healthy" : comma_list(models.ills)});
    }
    table.add(row);
    for (const v1::ForeignTask& task : view.node().foreign()) {
      warnings += "warning: " + printable(inventory.name()) + ": " + foreign_line(task) + "\n";
    }
    for (const std::string& warning : inventory.warnings()) {
      warnings += "warning: " + printable(inventory.name()) + ": " + printable(warning) + "\n";
    }
  }
  return table.print() + warnings;
}

}  // namespace keel::cli
