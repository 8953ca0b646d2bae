#include "tests/e2e/platform.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

namespace keel::e2e {
namespace {

namespace files = std::filesystem;

const std::string programs = PROGRAM_DIR "/";
constexpr std::array<const char*, 5> ends{"succeeded", "failed", "canceled", "expired", "rejected"};
constexpr int wait_ms = 1000;  // of one question; what comes answers it at once

std::string new_directory() {
  std::string path = "/tmp/keel-e2e-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw TooLate("a directory of its own");
  files::create_directory(path + "/notes");
  ::chmod(path.c_str(), 0711);
  ::chmod((path + "/notes").c_str(), 0777);
  return path;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

// The name of an event is its field beside seq, time and subject.
std::string name_of(const Json& event) {
  for (const auto& [name, value] : event.items()) {
    if (value.is_object()) return name;
  }
  return "?";
}

void show(const std::string& log) {
  const auto lines = lines_of(log);
  const auto first = lines.size() > 30 ? lines.end() - 30 : lines.begin();
  std::cerr << "--- " << log << "\n";
  std::for_each(first, lines.end(), [](const std::string& line) { std::cerr << line << "\n"; });
}

void complain_of_sanitizers(const std::string& log) {
  for (const std::string& line : lines_of(log)) {
    const bool bad = line.find("Sanitizer") != std::string::npos ||
                     line.find("runtime error:") != std::string::npos ||
                     line.find("promise") != std::string::npos;
    if (bad) ADD_FAILURE() << log << ": " << line;
  }
}

}  // namespace

Dice::Dice() {
  const char* given = std::getenv("KEEL_E2E_SEED");
  const auto seed = given ? static_cast<unsigned>(std::atoll(given)) : std::random_device()();
  std::cout << "seed: KEEL_E2E_SEED=" << seed << std::endl;
  generator_.seed(seed);
}

bool is_end(const std::string& state) { return std::ranges::count(ends, state) > 0; }

std::string until_told(const std::string& name) {
  return "while [ ! -e \"$NOTES/" + name + "\" ]; do sleep 0.05; done\n";
}

Platform::Platform(Options options) : options_(std::move(options)) {
  place_.directory = new_directory();
  const std::string unique = place_.directory.substr(place_.directory.rfind('-') + 1);
  place_.node = "e2e-" + unique + "-";
  mark_ = "mark-" + unique;
  caretaker_ = std::make_unique<Caretaker>(place_);
  if (!options_.preload.empty()) make_preloading_shim();
}

Platform::~Platform() {
  for (auto& [name, agent] : agents_) agent.kill9();
  keeld_.kill9();
  std::error_code gone;
  for (const auto& file : files::directory_iterator(place_.directory, gone)) {
    if (file.path().extension() != ".log") continue;
    complain_of_sanitizers(file.path());
    if (testing::Test::HasFailure() || std::uncaught_exceptions() > 0) show(file.path());
  }
}

std::vector<std::string> Platform::keeld_command() const {
  std::vector<std::string> command = {programs + "keeld", "--data",          path("data"),
                                      "--socket",         path("keel.sock"), "--http",
                                      "127.0.0.1:0",      "--address-file",  path("address"),
                                      "--token-user",     "nobody"};
  command.insert(command.end(), options_.keeld.begin(), options_.keeld.end());
  return command;
}

std::vector<std::string> Platform::agent_command(const std::string& name) const {
  std::vector<std::string> command = {programs + "keel-agent",
                                      "--server",
                                      "unix:" + path("keel.sock"),
                                      "--state",
                                      agent_state(name),
                                      "--name",
                                      node(name),
                                      "--devices",
                                      options_.devices,
                                      "--shim",
                                      shim()};
  command.insert(command.end(), options_.agent.begin(), options_.agent.end());
  return command;
}

std::string Platform::shim() const {
  return options_.preload.empty() ? programs + "keel-shim" : path("shim");
}

// Shims start with an empty environment, so theirs comes from a program in between.
void Platform::make_preloading_shim() const {
  files::create_directory(preloaded());
  std::ofstream(shim()) << "#!/bin/sh\nexport LD_PRELOAD=" << options_.preload
                        << " PRELOADED=" << preloaded()
                        << " ASAN_OPTIONS=verify_asan_link_order=0\nexec " << programs
                        << "keel-shim \"$@\"\n";
  files::permissions(shim(), files::perms(0755));
}

void Platform::start_keeld() {
  keeld_.start(keeld_command(), path("keeld.log"));
  await("keeld", [this] {
    if (!keeld_.is_running()) {
      throw TooLate("keeld ended with " + std::to_string(keeld_.await_end()));
    }
    const auto answer = try_to({.target = "/healthz"});
    return answer && answer->status == 200;
  });
}

void Platform::launch_agent(const std::string& name) {
  std::vector<std::string> env;
  if (!options_.preload.empty()) {
    const char* asan = std::getenv("ASAN_OPTIONS");
    env = {
        "LD_PRELOAD=" + options_.preload, "PRELOADED=" + preloaded(),
        "ASAN_OPTIONS=" + std::string(asan != nullptr ? asan : "") + ":verify_asan_link_order=0"};
  }
  agent(name).start(agent_command(name), path(name + ".log"), env);
}

void Platform::start_agent(const std::string& name) {
  launch_agent(name);
  await_ready(name);
}

void Platform::await_ready(const std::string& name) {
  await("the node of an agent", [&] {
    if (!agent(name).is_running()) throw TooLate("the agent has ended");
    return is_ready(name);
  });
}

bool Platform::is_ready(const std::string& name) const {
  const auto answer = try_to({.target = "/v1/nodes"});
  if (!answer) return false;
  const Json page = answer->json();
  for (const Json& view : page["nodes"]) {
    const Json& one = view["node"];
    if (one["inventory"]["name"] == node(name)) return one["state"] == "ready";
  }
  return false;
}

Address Platform::http() const {
  const std::string address = contents(path("address"));
  return {"", std::atoi(address.substr(address.rfind(':') + 1).c_str())};
}

std::string Platform::token() const {
  const auto lines = lines_of(path("data/operator.token"));
  return lines.empty() ? "" : lines.front();
}

Answer Platform::get(const std::string& target) const {
  const auto answer = try_to({.target = target});
  if (!answer) throw TooLate("an answer to " + target);
  return *answer;
}

Answer Platform::post(const std::string& target, const Json& body) const {
  const auto answer = try_to({.method = "POST", .target = target, .body = body.dump()});
  if (!answer) throw TooLate("an answer to " + target);
  return *answer;
}

Json Platform::shell(const std::string& script) const {
  return {{"program", "/bin/sh"},
          {"args", {"-c", script}},
          {"grace", "1s"},
          {"env", {{"NOTES", path("notes")}, {"E2E_MARK", mark_}}}};
}

Json Platform::gang(const std::string& script, int tasks, int gpus_per_task) const {
  Json spec = shell(script);
  spec["gang"] = {{"tasks", tasks}, {"gpus_per_task", gpus_per_task}};
  return spec;
}

void Platform::tell(const std::string& name) const { std::ofstream(note(name)).flush(); }

bool Platform::is_noted(const std::string& name) const { return files::exists(note(name)); }

Json Platform::submitted(const Json& spec, const std::string& key) const {
  const Answer answer = post("/v1/jobs", {{"spec", spec}, {"key", key}});
  if (answer.status != 200) throw TooLate("a job, and was told " + answer.body);
  return answer.json();
}

std::string Platform::submit(const Json& spec, const std::string& key) const {
  return submitted(spec, key)["job"];
}

Json Platform::view(const std::string& job) const {
  const Answer answer = get("/v1/jobs/" + job);
  if (answer.status != 200) throw TooLate("job " + job + ", and was told " + answer.body);
  return answer.json();
}

std::size_t Platform::count_jobs() const {
  return get("/v1/jobs?limit=1000").json()["jobs"].size();
}

std::string Platform::put_file(const std::string& content) const {
  const auto answer = try_to({.method = "PUT", .target = "/v1/files", .body = content});
  if (!answer || answer->status != 200) throw TooLate("a file to be taken");
  return answer->json()["digest"];
}

std::string Platform::cancel(const std::string& job) const {
  const Answer answer = post("/v1/jobs/" + job + ":cancel", Json::object());
  if (answer.status != 200) return answer.body;
  return answer.json()["state"];
}

Json Platform::await_state(const std::string& job, const std::string& state) const {
  const auto deadline = SteadyClock::now() + patience;
  std::string seen = "never seen", after = "0";
  while (SteadyClock::now() < deadline) {
    const std::string wait = "&limit=1000&wait_ms=" + std::to_string(wait_ms);
    const auto answer = try_to({.target = "/v1/jobs/" + job + "/events?after=" + after + wait});
    if (!answer || answer->status != 200) {
      ::usleep(50'000);
      continue;
    }
    const Json page = answer->json();
    after = page["next"].dump();
    seen = page["state"];
    if (seen == state || (state == "an end" && is_end(seen))) return this->job(job);
    if (is_end(seen)) break;
  }
  throw TooLate("waited in vain for " + state + " of job " + job + ", which is " + seen + ": " +
                get("/v1/jobs/" + job).body);
}

Json Platform::await_end(const std::string& job) const { return await_state(job, "an end"); }

Json Platform::await_reason(const std::string& job, const std::string& reason) const {
  Json now;
  await("the reason " + reason + " of job " + job, [&] {
    now = this->job(job);
    return now["reason"] == reason;
  });
  return now;
}

void Platform::await_event(const std::string& job, const std::string& event, int count) const {
  await("event " + event + " of job " + job,
        [&] { return std::ranges::count(events(job), event) >= count; });
}

void Platform::await_note(const std::string& name) const {
  await("the note " + name, [&] { return is_noted(name); });
}

void Platform::await_nobody_left() const {
  await("the end of all processes of the job", [&] { return nobody_left(); });
}

std::vector<std::string> Platform::events(const std::string& job) const {
  std::vector<std::string> names;
  const Json page = get("/v1/jobs/" + job + "/events?after=0&limit=1000").json();
  for (const Json& event : page["events"]) names.push_back(name_of(event));
  return names;
}

std::vector<std::string> Platform::log(const std::string& job, int task) const {
  std::vector<std::string> lines;
  std::string offset = "0";
  bool end = false;
  const std::string target = "/v1/jobs/" + job + "/logs?task=" + std::to_string(task) +
                             "&wait_ms=" + std::to_string(wait_ms) + "&offset=";
  await("the end of the log of job " + job, [&] {
    const Answer answer = get(target + offset);
    if (answer.status != 200) return false;
    const Json part = answer.json();
    if (part["dropped"] == true) throw TooLate("lines that were dropped: " + quoted(job));
    for (const Json& line : part["lines"]) lines.push_back(line["text"]);
    offset = part["next"].dump();
    end = part["end"];
    return end;
  });
  return lines;
}

}  // namespace keel::e2e
