// The hands of a shim: one task's directory, its processes, its output. Decides nothing; what to do
// when is agent/shim.h, and apps/keel_shim.cpp joins the two. One thread.
#pragma once

#include <optional>
#include <string>

#include "adapters/processes/files.h"
#include "adapters/processes/identity.h"
#include "adapters/processes/log_writer.h"
#include "adapters/processes/remains.h"
#include "adapters/processes/spawn.h"
#include "base/result.h"
#include "keel/v1/local.pb.h"
#include "model/job.h"
#include "model/units.h"

namespace keel {

class Keeper {
 public:
  // Detaches the calling process from whoever started it: a session of its own, subreaper, no
  // inherited descriptors but 0 to 2, no signal but SIGKILL ends it.
  static void detach();

  // Takes the task: its lock, then its launch file; then names this process in the shim file. An
  // error leaves everything as it was found.
  static Result<Keeper, std::string> open(const std::string& task_directory);

  const v1::Launch& launch() const { return launch_; }

  // Begins the main process. A failure to do so is its end.
  void start();
  void notify();
  void kill();

  // Takes in what the task still has written, then writes the exit record; durable when it returns.
  // An error may be tried again. Where the directory was cleared away, nothing is written.
  Result<Done, std::string> record(const Exit& exit);

  // Reads output, reaps children and hears of changed files until something has happened or it is
  // `until`, at most a second.
  void wait(Instant until);

  // What is so now, as of the last wait().
  Instant lease() const { return lease_; }  // 0 where it could never be read
  std::optional<StopCause> stop() const { return stop_; }
  bool started() const { return started_; }
  const std::optional<Exit>& ended() const { return ended_; }
  bool left() const;     // a process of the task lives
  bool heeding() const;  // one of those catches the stop signal

 private:
  Keeper(Descriptor directory, Descriptor lock, Descriptor log, v1::Launch launch);

  Result<Done, std::string> listen();
  Result<Done, std::string> write_identity();
  void read_orders();
  void read_signals();
  void read_output();
  void read_report();
  void end_report();
  void reap();
  void end_main(int status);
  Whereabouts where() const;

  Descriptor directory_;
  Descriptor lock_;
  Descriptor log_directory_;
  v1::Launch launch_;
  LogWriter log_;
  Descriptor signals_;  // signalfd of SIGCHLD and stop_word
  Descriptor changes_;  // inotify of the directory
  Spawned task_;
  Identity main_;
  std::string report_;
  Instant started_at_;
  Instant lease_;
  std::optional<StopCause> stop_;
  Instant read_at_;
  bool started_ = false;
  bool told_ = false;  // that it has started
  bool children_left_ = false;
  std::optional<Exit> ended_;
};

}  // namespace keel
