#include "tests/e2e/kill_matrix.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tests/e2e/leftovers.h"
#include "tests/e2e/platform.h"

namespace keel::e2e {
namespace {

namespace files = std::filesystem;

// Where a program stops: `gate` holds the arrival `number`. Nobody stops where there is no gate.
struct Step {
  std::string name;
  std::string gate;
  int number{1};
  bool ends_before{};  // the program's end is before this step
  int code{7};         // with which it ends; outputs are put in place after 0 only
};

// A claim is written six times: preparing, prepared, started, running, ended, settled.
const std::vector<Step> steps{
    {"PREPARE heard, claim not written", "before-rename-claim", 1},
    {"claim written, nothing prepared", "after-rename-claim", 1},
    {"files laid out, not yet prepared", "before-rename-launch", 1},
    {"prepared, not told", "after-rename-claim", 2},
    {"START heard, not written", "before-rename-claim", 3},
    {"START written, no shim", "after-rename-claim", 3},
    {"shim begun, task not its own", "begin-keel-shim", 1},
    {"task its shim's, program not begun", "after-rename-shim", 1},
    {"program begun, not told", "before-rename-shim", 2},
    {"running", "", 0},
    {"program ended, record not written", "before-rename-exit", 1, true},
    {"record written, agent does not know", "before-rename-claim", 5, true},
    {"end known, not told", "after-rename-claim", 5, true},
    {"COMMIT heard, outputs not in place", "before-rename-task-0", 1, true, 0},
    {"outputs in place, not told", "after-rename-task-0", 1, true, 0},
    {"settled, not told", "after-rename-claim", 6, true, 0},
    {"RELEASE heard, half cleared away", "before-remove-launch", 1, true},
    {"cleared away, claim not erased", "before-remove-claim", 1, true, 0},
};

const std::map<std::string, unsigned> victims_of{
    {"keeld", keeld_dies},
    {"agent", agent_dies},
    {"shim", shim_dies},
    {"task", task_dies},
    {"keeld + agent", keeld_dies | agent_dies},
    {"agent + shim", agent_dies | shim_dies},
    {"agent + task", agent_dies | task_dies},
    {"shim + task", shim_dies | task_dies},
    {"keeld + shim", keeld_dies | shim_dies},
    {"keeld + task", keeld_dies | task_dies},
    {"guard", guard_dies},
    {"shim + guard", shim_dies | guard_dies},
    {"all", keeld_dies | agent_dies | shim_dies | task_dies},
};

struct Expected {
  std::size_t starts{};
  int infrastructure_failures{};
  bool killed{};
};
const std::map<std::string, Expected> expectations{
    {"once", {1, 0}}, {"anew", {1, 1}}, {"again", {2, 1}}, {"killed", {1, 0, true}}};

const Step& step_of(const std::string& name) {
  const auto found = std::ranges::find(steps, name, &Step::name);
  if (found == steps.end()) throw std::runtime_error("there is no step '" + name + "'");
  return *found;
}

// "| a | b |" -> a, b
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    if (first == cell.npos) continue;
    cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

// Process ids by what /proc says of them.
std::string program_of(pid_t pid) {
  std::error_code gone;
  return files::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone).filename();
}

pid_t parent_of(pid_t pid) {
  std::istringstream stat(contents("/proc/" + std::to_string(pid) + "/stat"));
  std::string skipped;
  std::getline(stat, skipped, ')');
  std::string state;
  pid_t parent{};
  stat >> state >> parent;
  return parent;
}

bool is_stopped(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const auto at = stat.rfind(") ");
  return at != stat.npos && (stat[at + 2] == 'T' || stat[at + 2] == 't');
}

// One platform whose agent and shims pass by gates.
class Host {
 public:
  Host() : platform_({.keeld = {"--silence", "1s", "--heartbeat", "200ms"}, .preload = GATES}) {
    platform_.start_keeld();
    platform_.start_agent();
    // What the first task of a host makes for ever is no leftover of a later one.
    platform_.tell("first-go");
    platform_.await_end(platform_.submit(spec("first", 0)));
    await_cleared();
    files_ = files_of(platform_.agent_state());
    descriptors_ = descriptors();
    groups_ = groups_of(platform_.node());
  }

  void do_cell(const Cell& cell);

 private:
  std::string gates() const { return platform_.preloaded(); }
  std::string note(const std::string& name) const { return platform_.note(cell_ + name); }

  Json spec(const std::string& cell, int code) const;
  pid_t await_held() const;
  void await_at(const Step& step);
  void kill(unsigned who);
  void restart(unsigned who);
  void expect(const Expected& expected, const Step& step);
  void expect_log(const Json& job);
  void expect_outputs(const Json& job);
  void await_cleared() const;
  void expect_nothing_left();
  std::map<std::string, std::size_t> descriptors() {
    return {{"keeld", descriptors_of(platform_.keeld().pid())},
            {"keel-agent", descriptors_of(platform_.agent().pid())}};
  }

  Platform platform_;
  std::set<std::string> files_;
  std::set<std::string> groups_;
  std::map<std::string, std::size_t> descriptors_;
  std::string cell_;  // the beginning of its notes
  std::string job_;
  pid_t held_{};
  int cells_{};
};

// Proves by a lock that it is alone, says that it starts, counts in its log, and ends when told to.
Json Host::spec(const std::string& cell, int code) const {
  const std::string script =
      "exec 9>> \"$NOTES/$CELL-lock\"; flock -n 9 || echo overlap >> \"$NOTES/$CELL-overlap\"\n"
      "echo $KEEL_ATTEMPT >> \"$NOTES/$CELL-starts\"\n"
      "i=0; while [ $i -lt 50 ]; do i=$((i + 1)); echo line $i; done\n"
      "echo $KEEL_ATTEMPT > \"$KEEL_OUTPUT_DIR/attempt\"\n" +
      until_told(cell + "-go") + "echo end; exit " + std::to_string(code);
  Json spec = platform_.gang(script, 1, 1);
  spec["env"]["CELL"] = cell;
  return spec;
}

pid_t Host::await_held() const {
  pid_t pid{};
  await("somebody at the gate", [&] {
    pid = std::atoi(contents(gates() + "/held").c_str());
    return pid > 0 && is_stopped(pid);
  });
  return pid;
}

void Host::await_at(const Step& step) {
  if (step.gate.empty() || step.ends_before) platform_.await_state(job_, "running");
  if (step.ends_before) platform_.tell(cell_ + "-go");
  if (!step.gate.empty()) held_ = await_held();
  if (step.name == "program begun, not told" || step.gate.empty()) {
    await("the start of the program", [&] { return files::exists(note("-starts")); });
  }
}

// All of them at once: they are stopped first, so that none sees another one's end.
void Host::kill(unsigned who) {
  std::vector<pid_t> pids;
  const std::string task = "/tasks/" + job_ + ".";
  std::vector<pid_t> guards, shims, tasks;
  for (const pid_t pid : living(task)) {
    if (program_of(pid) == "keel-shim") shims.push_back(pid);
  }
  // A guard is the shim's parent, and a fork of it until then.
  for (const pid_t pid : shims) {
    if (std::ranges::count(shims, parent_of(pid)) > 0) guards.push_back(parent_of(pid));
  }
  for (const pid_t guard : guards) std::erase(shims, guard);
  for (const pid_t pid : living(task)) {
    if (std::ranges::count(shims, parent_of(pid)) > 0) tasks.push_back(pid);
  }
  if (who & keeld_dies) pids.push_back(platform_.keeld().pid());
  if (who & agent_dies) pids.push_back(platform_.agent().pid());
  if (who & shim_dies) pids.insert(pids.end(), shims.begin(), shims.end());
  if (who & task_dies) pids.insert(pids.end(), tasks.begin(), tasks.end());
  if (who & guard_dies) pids.insert(pids.end(), guards.begin(), guards.end());
  const bool all_there = (!(who & shim_dies) || shims.size() == 1) &&
                         (!(who & task_dies) || tasks.size() == 1) &&
                         (!(who & guard_dies) || guards.size() == 1);
  if (!all_there) throw TooLate("a guard, a shim and a task of job " + job_);
  for (const pid_t pid : pids) ::kill(pid, SIGSTOP);
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  if (who & keeld_dies) platform_.keeld().kill9();
  if (who & agent_dies) platform_.agent().kill9();
  files::remove(gates() + "/held");
  if (held_ != 0) ::kill(held_, SIGCONT);  // gone where it was a victim; a pid of ours in any case
  held_ = 0;
}

void Host::restart(unsigned who) {
  if (who & agent_dies) platform_.launch_agent();
  if (who & keeld_dies) platform_.start_keeld();
  platform_.await_ready();
}

void Host::do_cell(const Cell& cell) {
  const Step& step = step_of(cell.step);
  cell_ = "cell-" + std::to_string(++cells_);
  if (!step.gate.empty()) {
    std::ofstream(gates() + "/" + step.gate) << step.number << "\n";
  }
  job_ = platform_.submit(spec(cell_, step.code));
  await_at(step);
  kill(cell.who);
  restart(cell.who);
  platform_.tell(cell_ + "-go");
  expect(expectations.at(cell.expected), step);
  expect_nothing_left();
}

void Host::expect(const Expected& expected, const Step& step) {
  const Json job = platform_.await_end(job_);
  const bool succeeds = step.code == 0 && !expected.killed;
  EXPECT_EQ(job["state"], succeeds ? "succeeded" : "failed") << job;
  EXPECT_EQ(job["reason"], succeeds ? "" : "program_failed") << job;
  EXPECT_EQ(job["infrastructure_failures"], expected.infrastructure_failures) << job;
  const Json& exit = job["tasks"][0]["exit"];
  EXPECT_EQ(exit["kind"], expected.killed ? "signaled" : "exited") << job;
  EXPECT_EQ(exit["code"], expected.killed ? SIGKILL : step.code) << job;
  EXPECT_EQ(lines_of(note("-starts")).size(), expected.starts) << contents(note("-starts"));
  EXPECT_FALSE(files::exists(note("-overlap"))) << "it ran twice at a time";
  if (!expected.killed) expect_log(job);
  if (succeeds) expect_outputs(job);
}

void Host::expect_log(const Json& job) {
  std::vector<std::string> due;
  for (int i = 1; i <= 50; ++i) due.push_back("line " + std::to_string(i));
  due.emplace_back("end");
  EXPECT_EQ(platform_.log(job["id"]), due);
}

void Host::expect_outputs(const Json& job) {
  const std::string place = platform_.agent_state() + "/outputs/" + job_;
  EXPECT_EQ(contents(place + "/task-0/attempt"), job["attempt"].dump() + "\n");
  files::remove_all(place);  // kept for ever, but not by this test
}

void Host::await_cleared() const {
  await("the end of a job's files", [&] {
    return files::is_empty(platform_.agent_state() + "/tasks") && platform_.nobody_left();
  });
}

void Host::expect_nothing_left() {
  await_cleared();
  for (const auto& kept : files::directory_iterator(platform_.agent_state() + "/logs")) {
    std::vector<std::string> names;
    for (const auto& one : files::directory_iterator(kept)) names.push_back(one.path().filename());
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"exit", "log"})) << kept.path();
    files::remove_all(kept);
  }
  files::remove_all(platform_.agent_state() + "/outputs-aside");  // of what failed
  await("devices that are free",
        [&] { return platform_.get("/v1/nodes").json()["nodes"][0]["held"].empty(); });
  EXPECT_EQ(files_of(platform_.agent_state()), files_);
  EXPECT_EQ(groups_of(platform_.node()), groups_);
  EXPECT_EQ(mounts_of(platform_.path("")), 0u);
  await("no more descriptors than before", [&] {
    auto now = descriptors();
    return std::ranges::all_of(descriptors_,
                               [&](const auto& one) { return now[one.first] <= one.second; });
  });
  EXPECT_TRUE(files::is_empty(gates())) << "a gate that nobody came to";
}

}  // namespace

std::vector<std::string> kill_steps() {
  std::vector<std::string> names;
  for (const Step& step : steps) names.push_back(step.name);
  return names;
}

std::vector<Cell> kill_matrix() {
  std::vector<Cell> matrix;
  std::vector<std::string> head;
  std::size_t row = 0;
  for (const std::string& line : lines_of(SOURCE_DIR "/docs/kill-matrix.md")) {
    if (!line.starts_with("| ")) {
      if (!line.starts_with("|-")) head.clear();
      continue;
    }
    const auto cells = cells_of(line);
    if (head.empty()) {
      head = cells;
      continue;
    }
    if (head.front() != "step") continue;
    if (cells.size() != head.size() || head.size() != victims_of.size() + 1 ||
        row >= steps.size() || cells.front() != steps[row++].name) {
      throw std::runtime_error("docs/kill-matrix.md: not what is done here: " + line);
    }
    for (std::size_t i = 1; i < head.size(); ++i) {
      const auto who = victims_of.find(head[i]);
      const bool known =
          who != victims_of.end() && (cells[i] == "-" || expectations.contains(cells[i]));
      if (!known) throw std::runtime_error("docs/kill-matrix.md: " + head[i] + ": " + cells[i]);
      matrix.push_back({cells.front(), head[i], who->second, cells[i]});
    }
  }
  if (row != steps.size()) throw std::runtime_error("docs/kill-matrix.md: a step is missing");
  return matrix;
}

void do_cells(const std::vector<Cell>& cells) {
  std::unique_ptr<Host> host;
  for (const Cell& cell : cells) {
    if (cell.expected == "-") continue;
    SCOPED_TRACE(cell.step + ": " + cell.victims + ": " + cell.expected);
    const int before =
        testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    try {
      if (!host) host = std::make_unique<Host>();
      host->do_cell(cell);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    const int after =
        testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    if (after != before) host.reset();  // what is amiss there is not to spoil the next
  }
}

}  // namespace keel::e2e
