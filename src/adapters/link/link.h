// The agent's connection to the control plane: dials out, and dials again for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"
#include "ports/server.h"

namespace keel {

class ServerLink final : public Server {
 public:
  static constexpr Duration backoff_first = milliseconds(200);  // doubles up to
  static constexpr Duration backoff_max = seconds(5);
  // Heard and not yet taken, or said and not yet sent: beyond that the connection is given up, and
  // the next one begins anew.
  static constexpr std::size_t waiting_max = 16'384;

  struct Options {
    // "unix:PATH", or "127.0.0.1:PORT", "[::1]:PORT" or "localhost:PORT" with a token.
    std::string target;
    std::string token{};
  };

  // Begins to dial, and tells what happens by take(). Errors are final: a target beyond loopback
  // (the token would travel in the clear), or none at all.
  static Result<std::unique_ptr<ServerLink>, std::string> open(const Options& options);

  // Hangs up. A fetch that is under way fails.
  ~ServerLink() override;

  // Readable while there is something to take. Owned by the link.
  int wake_descriptor() const;

  // What is sent belongs to the connection that take() told of last: what was decided before a
  // connection broke is never said on the next one. One thread takes and sends.
  std::vector<ServerMessage> take() override;
  void send(const Report& report) override;
  void send_log(std::uint64_t request, const std::optional<LogPart>& part) override;
  void introduce(const NodeInventory& inventory, FencingToken newest) override;

  // Why the last connection ended or could not be made, for the agent's log; empty while all is
  // well. Any thread.
  std::string trouble() const;

  // Fetches a file that travels with a job, piece by piece and in order; an error of `sink` ends it
  // and is given. What was given is not checked against the digest. Blocks, also while there is
  // no connection, a minute at most; any thread, several at once.
  using Sink = std::function<Result<Done, std::string>(std::string_view)>;
  Result<Done, std::string> fetch(const Digest& file, const Sink& sink);

  // From now on no fetch goes on or begins. Any thread.
  void give_up_fetching();

 private:
  struct Inside;
  explicit ServerLink(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace keel
