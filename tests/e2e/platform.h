// A whole platform of real programs in a directory of its own, and what tests ask of it. Where
// something does not come, its functions throw, which GoogleTest makes a failure of.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/await.h"
#include "tests/e2e/caretaker.h"
#include "tests/e2e/http.h"
#include "tests/e2e/json.h"
#include "tests/e2e/program.h"

namespace keel::e2e {

class Platform {
 public:
  struct Options {
    std::vector<std::string> keeld;  // further arguments
    std::string devices = "emulated:8xH100-80GB";
    std::vector<std::string> agent{};  // further arguments
    // A library in front of the C library of agents and shims. It finds preloaded() in the variable
    // PRELOADED.
    std::string preload{};
  };

  Platform() : Platform(Options()) {}
  explicit Platform(Options options);
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  ~Platform();  // leaves nothing; complains of what sanitizers said

  // Both return when it serves, or when its node is ready; after a kill they start it again.
  void start_keeld();
  void start_agent(const std::string& name = "n1");
  // Without waiting.
  void launch_agent(const std::string& name = "n1");
  void await_ready(const std::string& name = "n1");

  Program& keeld() { return keeld_; }
  Program& agent(const std::string& name = "n1") { return agents_[name]; }

  std::vector<std::string> keeld_command() const;
  std::vector<std::string> agent_command(const std::string& name = "n1") const;
  std::string path(const std::string& name) const { return place_.directory + "/" + name; }
  std::string node(const std::string& name = "n1") const { return place_.node + name; }
  std::string agent_state(const std::string& name = "n1") const { return path("agent-" + name); }
  std::string preloaded() const { return path("preloaded"); }  // a directory
  Address socket() const { return {path("keel.sock"), 0}; }
  Address http() const;
  std::string token() const;

  // Throws where nobody answers.
  Answer get(const std::string& target) const;
  Answer post(const std::string& target, const Json& body) const;

  // What /bin/sh is to run. In its environment: NOTES, a directory that everybody may write, and
  // E2E_MARK, by which all its processes are known.
  Json shell(const std::string& script) const;
  Json gang(const std::string& script, int tasks, int gpus_per_task) const;
  const std::string& mark() const { return mark_; }
  bool nobody_left() const { return living(mark_).empty(); }

  std::string note(const std::string& name) const { return path("notes/" + name); }
  void tell(const std::string& name) const;  // makes an empty note
  bool is_noted(const std::string& name) const;

  // The answer to a submission that must be accepted.
  Json submitted(const Json& spec, const std::string& key = "") const;
  std::string submit(const Json& spec, const std::string& key = "") const;
  Json view(const std::string& job) const;
  Json job(const std::string& job) const { return view(job)["job"]; }
  std::string state(const std::string& job) const { return this->job(job)["state"]; }
  std::size_t count_jobs() const;
  std::string put_file(const std::string& content) const;  // its digest
  // The state in the answer.
  std::string cancel(const std::string& job) const;

  // Returns the job once it is in `state`. Throws at once where it has ended otherwise.
  Json await_state(const std::string& job, const std::string& state) const;
  Json await_end(const std::string& job) const;
  Json await_reason(const std::string& job, const std::string& reason) const;
  void await_event(const std::string& job, const std::string& event, int count = 1) const;
  void await_note(const std::string& name) const;
  void await_nobody_left() const;

  // The names of what happened to the job, oldest first.
  std::vector<std::string> events(const std::string& job) const;
  // What a task of the latest attempt wrote, when all of it is there.
  std::vector<std::string> log(const std::string& job, int task = 0) const;

 private:
  std::optional<Answer> try_to(const Request& request) const { return ask(socket(), request); }
  bool is_ready(const std::string& name) const;
  std::string shim() const;
  void make_preloading_shim() const;

  Options options_;
  Place place_;
  std::string mark_;
  std::unique_ptr<Caretaker> caretaker_;
  Program keeld_;
  std::map<std::string, Program> agents_;
};

bool is_end(const std::string& state);

// Waits until $NOTES/NAME is there, in a script.
std::string until_told(const std::string& name = "go");

// Each start of a task is a line in this note.
inline const std::string note_start = "echo \"$KEEL_ATTEMPT $RANK\" >> \"$NOTES/starts\"\n";

}  // namespace keel::e2e
