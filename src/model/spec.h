// What a person asks for. SaidSpec is what they said, JobSpec what it means once every default is
// filled in; the idempotency hash is over the first, everything that runs reads the second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/units.h"

namespace keel {

// A file that travels with the job into each task's working directory.
struct TakenFile {
  std::string path{};  // relative, without "..": where it lies in the working directory
  Digest digest{};     // of its bytes, which the control plane holds
  bool executable{};
  friend bool operator==(const TakenFile&, const TakenFile&) = default;
};

// All tasks start together or none does. 1 x 1 is the plain job, 0 GPUs a job for the CPU only.
struct Gang {
  std::uint32_t tasks{1};
  std::uint32_t gpus_per_task{};
  std::string gpu_model{};  // empty: any model, but one model for the whole gang
  friend bool operator==(const Gang&, const Gang&) = default;
};

struct SaidGang {
  std::optional<std::uint32_t> tasks{};
  std::optional<std::uint32_t> gpus_per_task{};
  std::optional<std::string> gpu_model{};
  friend bool operator==(const SaidGang&, const SaidGang&) = default;
};

// As parsed and checked field by field; absent is "not said". Limits: model/limits.h.
struct SaidSpec {
  std::optional<std::string> name{};
  std::map<std::string, std::string> labels{};
  std::string program{};
  std::vector<std::string> args{};
  std::map<std::string, std::string> env{};
  std::vector<TakenFile> files{};  // sorted by path, each path once
  SaidGang gang{};
  std::optional<Millicores> cpu_per_task{};
  std::optional<Bytes> memory_per_task{};
  std::optional<Duration> time_limit{};
  std::optional<Duration> grace{};
  std::optional<int> stop_signal{};
  std::optional<std::uint32_t> retries{};
  std::optional<Duration> start_deadline{};
  friend bool operator==(const SaidSpec&, const SaidSpec&) = default;
};

// Immutable once accepted.
struct JobSpec {
  std::string name{};
  std::map<std::string, std::string> labels{};
  std::string
      program{};  // "./x": one of `files`; "/x": a path on the node; "x": found in PATH there
  std::vector<std::string> args{};
  std::map<std::string, std::string> env{};
  std::vector<TakenFile> files{};
  Gang gang{};
  std::optional<Millicores> cpu_per_task{};  // absent: not limited and not counted
  std::optional<Bytes> memory_per_task{};    // absent: not limited and not counted
  Duration time_limit{};                     // of one attempt, the grace included
  Duration grace{};                          // between the stop signal and the kill
  int stop_signal{};                         // e.g. SIGTERM
  std::uint32_t retries{};  // failures of the user's own program to start over after
  std::optional<Duration> start_deadline{};  // from submission; not started by then: expired
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// The part of a spec that decides about place and time: what the scheduler keeps of every job.
struct Shape {
  Gang gang{};
  std::optional<Millicores> cpu_per_task{};
  std::optional<Bytes> memory_per_task{};
  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace keel
