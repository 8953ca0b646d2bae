#include "rendezvous.h"

#include <cstdlib>

#include "failure.h"
#include "flags.h"

namespace keel::digits {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Failure(why, exit_usage); }

std::string required(const Lookup& lookup, const char* name) {
  const auto text = lookup(name);
  if (!text) refuse(std::string(name) + " is not set, and a gang of several tasks needs it");
  return *text;
}

std::size_t whole_or(const Lookup& lookup, const char* name, Limits limits, std::size_t otherwise) {
  const auto text = lookup(name);
  return text ? parse_whole(name, *text, limits) : otherwise;
}

}  // namespace

Rendezvous read_rendezvous(const Lookup& lookup) {
  Rendezvous its;
  if (!lookup("WORLD_SIZE")) {
    if (lookup("RANK")) refuse("RANK is set, but WORLD_SIZE is not");
    return its;
  }
  its.world = parse_whole("WORLD_SIZE", *lookup("WORLD_SIZE"), {1, world_max});
  its.local_world = whole_or(lookup, "LOCAL_WORLD_SIZE", {1, its.world}, 1);
  its.local_rank = whole_or(lookup, "LOCAL_RANK", {0, its.local_world - 1}, 0);
  its.node_rank = whole_or(lookup, "NODE_RANK", {0, its.world - 1}, 0);
  if (its.world == 1) {
    its.rank = whole_or(lookup, "RANK", {0, 0}, 0);
    return its;
  }
  its.rank = parse_whole("RANK", required(lookup, "RANK"), {0, its.world - 1});
  its.address = required(lookup, "MASTER_ADDR");
  its.port = static_cast<std::uint16_t>(
      parse_whole("MASTER_PORT", required(lookup, "MASTER_PORT"), {1, 65'535}));
  return its;
}

std::optional<std::string> environment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

}  // namespace keel::digits
