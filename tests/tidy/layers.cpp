#include <map>
#include <set>

#include "pattern.h"
#include "rules.h"

namespace keel::tidy {
namespace {

// What each folder of src/ may include, besides itself. "proto" is what protoc makes of proto/.
const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> table{
      {"base", {}},
      {"model", {"base"}},
      {"share", {"base"}},
      {"timeline", {"base", "model"}},
      {"ports", {"base", "model"}},
      {"wire", {"base", "model", "proto"}},
      {"core", {"base", "model", "share", "timeline"}},
      {"control", {"base", "model", "share", "timeline", "core", "ports"}},
      {"agent", {"base", "model", "ports"}},
      {"adapters", {"base", "model", "ports", "wire", "proto"}},
      {"sim", {"base", "model", "share", "timeline", "core", "ports", "control", "agent"}},
      {"apps",
       {"base", "model", "share", "timeline", "core", "ports", "control", "agent", "wire",
        "adapters", "sim", "proto"}},
  };
  return table;
}

std::string first_folder(const std::string& path) {
  const std::size_t end = path.find('/');
  return end == std::string::npos ? "" : path.substr(0, end);
}

// "adapters/grpc" of "adapters/grpc/server.h".
std::string two_folders(const std::string& path) { return path.substr(0, path.rfind('/')); }

// `from_path` and `included` are paths from src/ on.
std::string why_not(const std::string& from_path, const std::string& included, bool test) {
  const std::string from = first_folder(from_path);
  std::string to = first_folder(included);
  if (to.empty()) return "is not written from src/ on";
  if (included.starts_with("keel/v1/")) to = "proto";
  if (from == "adapters" && to == "adapters" && !test &&
      two_folders(from_path) != two_folders(included)) {
    // The doors share one service code, which hears through one queue; those that start programs
    // start them in one way.
    static const std::map<std::string, std::set<std::string>> doors{
        {"adapters/front", {"adapters/inbox"}},
        {"adapters/door", {"adapters/front"}},
        {"adapters/http", {"adapters/front", "adapters/door"}},
        {"adapters/grpc", {"adapters/front", "adapters/door", "adapters/inbox"}},
        {"adapters/processes", {"adapters/posix"}},
        {"adapters/nvml", {"adapters/posix"}},
    };
    const auto door = doors.find(two_folders(from_path));
    if (door == doors.end() || !door->second.contains(two_folders(included))) {
      return "points from one adapter to another";
    }
  }
  if (to == from || (test && to == "tests")) return "";
  const auto row = allowed().find(from);
  if (row == allowed().end()) return "stands in a folder that DESIGN names no layer";
  return row->second.contains(to) ? "" : "points from " + from + " to " + to;
}

}  // namespace

Findings upward_includes(const Source& source) {
  Findings findings;
  if (!is_cpp(source) || !source.path.starts_with("src/")) return findings;
  static const Pattern include(R"re(^\s*#\s*include\s+"([^"]+)")re");
  int number = 0;
  for (const std::string_view line : lines_of(source.text)) {
    ++number;
    const auto found = include.find(line);
    if (!found) continue;
    const std::string& path = found->groups[1];
    const std::string why = why_not(source.path.substr(4), path, is_test(source));
    if (!why.empty()) findings.push_back({source.path, number, "include of " + path + " " + why});
  }
  return findings;
}

Findings heavy_includes(const Source& source) {
  Findings findings;
  if (!is_cpp(source) || source.path.starts_with("src/adapters/")) return findings;
  static const Pattern heavy(
      R"re(^\s*#\s*include\s+[<"](grpcpp/|grpc/|boost/beast|boost/asio|[^">]*\.grpc\.pb\.h))re");
  for (const int line : heavy.lines_in(source.text)) {
    findings.push_back({source.path, line, "gRPC, Asio and Beast stay in src/adapters"});
  }
  return findings;
}

}  // namespace keel::tidy
