#include "apps/nvml/show.h"

#include <algorithm>
#include <array>
#include <vector>

#include "wire/text.h"

namespace keel {
namespace {

using Row = std::array<std::string, 9>;

std::string or_dash(bool present, std::int64_t value, const std::string& unit) {
  return present ? std::to_string(value) + unit : "-";
}

Row row_of(const v1::NvmlSeen& seen) {
  const v1::NvmlDevice& d = seen.device();
  constexpr std::int64_t mib = 1 << 20;
  return {printable(d.uuid()),
          printable(seen.model()),
          or_dash(d.has_memory_total_bytes(), d.memory_total_bytes() / mib, "MiB"),
          or_dash(d.has_memory_used_bytes(), d.memory_used_bytes() / mib, "MiB"),
          or_dash(d.has_gpu_busy_percent(), d.gpu_busy_percent(), "%"),
          or_dash(d.has_temperature_c(), d.temperature_c(), "C"),
          or_dash(d.has_power_mw(), d.power_mw() / 1000, "W"),
          or_dash(d.processes_read(), d.processes_size(), ""),
          seen.health()};
}

}  // namespace

std::string show_gpus(const v1::NvmlReport& report) {
  std::vector<Row> rows{
      {"UUID", "MODEL", "MEMORY", "USED", "BUSY", "TEMP", "POWER", "PROCS", "HEALTH"}};
  for (const v1::NvmlSeen& seen : report.devices()) rows.push_back(row_of(seen));
  Row::size_type columns = rows.front().size();
  std::string text;
  if (!report.driver().driver_version().empty()) {
    text += "driver " + printable(report.driver().driver_version()) + ", NVML " +
            printable(report.driver().nvml_version()) + "\n";
  }
  for (const Row& row : rows) {
    if (rows.size() == 1) break;
    std::string line;
    for (std::size_t column = 0; column < columns; ++column) {
      std::size_t width = 0;
      for (const Row& other : rows) width = std::max(width, other[column].size());
      line += row[column];
      if (column + 1 < columns) line += std::string(width + 2 - row[column].size(), ' ');
    }
    text += line + "\n";
  }
  for (const std::string& warning : report.warnings()) {
    text += "warning: " + printable(warning) + "\n";
  }
  return text;
}

}  // namespace keel
