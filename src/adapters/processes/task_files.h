// The files of one task's directory, by which agent and shim speak to each other and to their
// successors. Their contents are proto/keel/v1/local.proto.
//
//   claim   the agent's promise (local_claims.h)      shim   which process the shim is
//   launch  what is to run: present from "prepared"   exit   how it ended: present from "ended"
//           to "released"                             lock   held by the shim while it lives
//   lease   until when it may run                     log/   its output (log_writer.h)
//   stop    the order to stop                         work/ outputs/ tmp/   the task's own
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "adapters/processes/files.h"
#include "base/result.h"

namespace keel {

constexpr const char* claim_file = "claim";
constexpr const char* launch_file = "launch";
constexpr const char* shim_file = "shim";
constexpr const char* lease_file = "lease";
constexpr const char* stop_file = "stop";
constexpr const char* exit_file = "exit";
constexpr const char* lock_file = "lock";
constexpr const char* log_directory = "log";
constexpr const char* work_directory = "work";
constexpr const char* outputs_directory = "outputs";
constexpr const char* scratch_directory = "tmp";

// What this version writes into the field `format` that each of these messages begins with.
constexpr std::uint32_t local_format = 1;

enum class Reading : std::uint8_t {
  good,
  absent,
  damaged,  // not what was written: cannot be used
  newer,    // by a later version of this program: to be left as it is
};

// "is absent", for texts: "launch is damaged".
std::string describe(Reading reading);

// `message` is meaningful only where the answer is `good`.
Reading read_message(int directory, const char* name, google::protobuf::Message& message);

// Fills in `format`.
Result<Done, std::string> write_message(int directory, const char* name,
                                        google::protobuf::Message& message, Lasting lasting);

// The lock tells for certain whether a shim lives: the kernel frees it with the last descriptor.
Result<Done, std::string> make_lock(int directory);
// Gives a descriptor that holds the lock; an error where somebody else does or there is none.
Result<Descriptor, std::string> take_lock(int directory);
// Looks without touching, so that a shim which is just starting is not turned away.
bool is_locked(int directory);

}  // namespace keel
