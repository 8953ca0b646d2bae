// A small HTTP client of the tests' own: one request on one connection.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/json.h"

namespace keel::e2e {

struct Request {
  std::string method = "GET";
  std::string target{};
  std::string body{};
  std::vector<std::string> headers = {"Content-Type: application/json"};
  bool says_host = true;
};

struct Answer {
  int status{};
  std::string body{};
  // Of an answer that is none, or broken, null.
  Json json() const { return Json::parse(body, nullptr, false); }
};

// Where a server listens: a Unix socket, or a port of 127.0.0.1.
struct Address {
  std::string socket;
  int port{};
};

// Nothing where nobody listens, or the server goes away before it has answered.
std::optional<Answer> ask(const Address& address, const Request& request);

// The same as another person: from a process with this user id and that user's groups. Takes root.
std::optional<Answer> ask_as(const std::string& user, const Address& address,
                             const Request& request);

}  // namespace keel::e2e
