#include "apps/keel/session.h"

#include <filesystem>
#include <ostream>

#include "apps/keel/local_files.h"
#include "apps/keel/words.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

constexpr const char* system_socket = "/run/keel/keeld.sock";
constexpr std::size_t token_bytes_max = 4096;
constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t socket_bytes_max = 107;  // Linux: sun_path, without the NUL

std::string default_socket(const Environment& env) {
  if (!env.socket.empty()) return env.socket;
  std::error_code error;
  const std::string own = env.runtime + "/keel/keeld.sock";
  if (!env.runtime.empty() && std::filesystem::exists(own, error)) return own;
  return system_socket;
}

bool is_loopback(std::string_view server) {
  const std::size_t colon = server.rfind(':');
  if (colon == server.npos || colon + 1 == server.size()) return false;
  const std::string_view host = server.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

Result<UsersClient::Target, std::string> with_token(UsersClient::Target target,
                                                    const std::string& file) {
  const auto content = read_content(file, token_bytes_max);
  if (!content) return "token file " + printable(file) + ": " + content.error().why;
  std::string token = content->bytes;
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  for (const char c : token) {
    if (c <= ' ' || c > '~') return "token file " + printable(file) + " holds no token";
  }
  if (token.empty()) return "token file " + printable(file) + " is empty";
  target.token = std::move(token);
  return target;
}

}  // namespace

Result<UsersClient::Target, std::string> target_of(const Where& where, const Environment& env) {
  UsersClient::Target target{.address = where.server};
  if (where.server.empty()) {
    const std::string socket = where.socket.empty() ? default_socket(env) : where.socket;
    target.address = std::string(unix_prefix) + socket;
  }
  if (target.address.starts_with(unix_prefix)) {
    const std::size_t bytes = target.address.size() - unix_prefix.size();
    if (bytes != 0 && bytes <= socket_bytes_max) return target;
    return "the path of a socket has 1 to " + std::to_string(socket_bytes_max) + " bytes; \"" +
           shortened(target.address.substr(unix_prefix.size())) + "\" has " + std::to_string(bytes);
  }
  // What is sent there, a token among it, is not encrypted.
  if (!is_loopback(where.server)) {
    return std::string(
        "--server takes unix:PATH, or a HOST:PORT on this host (127.0.0.1, [::1], localhost)");
  }
  const std::string& file = where.token_file.empty() ? env.token_file : where.token_file;
  if (file.empty()) {
    return "--server " + printable(where.server) + " needs --token-file or $KEEL_TOKEN_FILE";
  }
  return with_token(std::move(target), file);
}

int fail(const Session& session, const ClientError& error) {
  if (error.code == ClientError::Code::unreachable) {
    const std::string where = session.address.starts_with(unix_prefix)
                                  ? "socket " + session.address.substr(unix_prefix.size())
                                  : session.address;
    session.err << "keel: nobody answers at " << printable(where)
                << ": start keeld, or name another with --socket or $KEEL_SOCKET\n";
    return exit_error;
  }
  for (const std::string& line : fault_lines(error.error)) session.err << "keel: " << line << "\n";
  return exit_error;
}

int fail(const Session& session, const std::vector<FieldError>& faults) {
  for (const FieldError& fault : faults) session.err << "keel: " << fault_line(fault) << "\n";
  return exit_error;
}

}  // namespace keel::cli
