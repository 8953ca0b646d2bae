// Connections between agents and control planes. Ordered and whole while they last, but for the
// faults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "model/ids.h"
#include "sim/agenda.h"
#include "sim/faults.h"

namespace keel::sim {

class Host;
class Plane;

struct Connection {
  std::uint64_t number{};
  Host* host{};
  Plane* plane{};
  SessionNo session{};  // at the plane, once it has heard the hello
  // Each end by itself believes that it stands.
  bool host_open = true;
  bool plane_open = true;
  Instant last_to_plane{};
  Instant last_to_host{};
};

class Network {
 public:
  Network(Agenda& agenda, Faults& faults, Random& chance)
      : agenda_(agenda), faults_(faults), chance_(chance.split()) {}

  std::shared_ptr<Connection> connect(Host& host, Plane& plane);

  // Has `arrive` done at the other end in a while, at most once but for a duplicate. Where the
  // message is lost the connection breaks.
  void to_plane(const std::shared_ptr<Connection>& connection, std::function<void()> arrive);
  void to_host(const std::shared_ptr<Connection>& connection, std::function<void()> arrive);

  // Both ends learn of it, one perhaps late.
  void cut(const std::shared_ptr<Connection>& connection);

  Duration latency() { return microseconds(chance_.between(200, 30'000)); }

 private:
  bool is_lost(const std::shared_ptr<Connection>& connection);
  void perhaps_cut(const std::shared_ptr<Connection>& connection);
  void carry(Instant& last, std::function<void()> arrive);

  Agenda& agenda_;
  Faults& faults_;
  Random chance_;
  std::uint64_t last_{};
};

}  // namespace keel::sim
