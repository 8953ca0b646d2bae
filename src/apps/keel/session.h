// One run of `keel`: the connection, and where words go.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "adapters/client/users_client.h"
#include "apps/keel/command.h"
#include "base/result.h"
#include "wire/spec.h"

namespace keel::cli {

struct Session {
  UsersClient& client;
  std::string address;  // for people
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal{};
  bool err_is_terminal{};
  std::chrono::milliseconds submit_again_for = std::chrono::seconds(15);  // where no answer comes
};

// What the environment says about where the control plane is.
struct Environment {
  std::string socket{};      // KEEL_SOCKET
  std::string token_file{};  // KEEL_TOKEN_FILE
  std::string runtime{};     // XDG_RUNTIME_DIR
};

// The target, or a sentence on what is wrong with what was said about it.
Result<UsersClient::Target, std::string> target_of(const Where& where, const Environment& env);

// Says on session.err what went wrong, one line for each fault; gives exit_error.
int fail(const Session& session, const ClientError& error);
int fail(const Session& session, const std::vector<FieldError>& faults);

}  // namespace keel::cli
