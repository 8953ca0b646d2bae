// HTTP/1.1 on connections that the door hands over: limits and time-outs here, meaning in rest.h.
#pragma once

#include <cstdint>
#include <memory>

#include "adapters/door/peer.h"
#include "adapters/http/rest.h"

namespace keel {

class HttpServer {
 public:
  static constexpr std::size_t connections_max = 512;
  static constexpr std::uint32_t header_bytes_max = 16 << 10;
  // Bodies over Rest::body_bytes_max that are held in memory at once; beyond that, `busy`.
  static constexpr int large_bodies_max = 4;
  static constexpr std::uint32_t read_within_ms = 15'000;   // a header; then again a body
  static constexpr std::uint32_t write_within_ms = 60'000;  // an answer

  struct Options {
    std::uint32_t read_within_ms = HttpServer::read_within_ms;
    int threads = 2;
  };
  HttpServer(Rest& rest, const Options& options);

  // Stops: answers that are ready are given a second to leave. Close the inbox, the feed and the
  // sessions first, so that no request waits for an answer. Answers that come later are dropped.
  ~HttpServer();

  // Serves a connection, and owns its descriptor from here on. Never blocks; any thread.
  void adopt(int descriptor, const Peer& peer);

  struct Engine;  // in server.cpp, with everything of Beast

 private:
  std::shared_ptr<Engine> engine_;
};

}  // namespace keel
