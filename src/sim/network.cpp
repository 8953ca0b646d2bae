#include "sim/network.h"

#include <algorithm>

#include "sim/host.h"
#include "sim/plane.h"

namespace keel::sim {
namespace {

constexpr Duration delay_max = minutes(1);
constexpr Duration long_delay_max = minutes(10);
constexpr Duration copy_after_max = seconds(10);
constexpr Duration noticed_within = seconds(20);  // a broken connection, by its pings
constexpr Duration half_open_max = minutes(20);

}  // namespace

std::shared_ptr<Connection> Network::connect(Host& host, Plane& plane) {
  auto connection = std::make_shared<Connection>();
  connection->number = ++last_;
  connection->host = &host;
  connection->plane = &plane;
  return connection;
}

void Network::to_plane(const std::shared_ptr<Connection>& connection,
                       std::function<void()> arrive) {
  if (!connection->host_open || is_lost(connection)) return;
  perhaps_cut(connection);
  carry(connection->last_to_plane, [connection, arrive = std::move(arrive)] {
    if (connection->plane_open) arrive();
  });
}

void Network::to_host(const std::shared_ptr<Connection>& connection, std::function<void()> arrive) {
  if (!connection->plane_open || is_lost(connection)) return;
  perhaps_cut(connection);
  carry(connection->last_to_host, [connection, arrive = std::move(arrive)] {
    if (connection->host_open) arrive();
  });
}

bool Network::is_lost(const std::shared_ptr<Connection>& connection) {
  if (!faults_.strikes(Fault::message_lost)) return false;
  agenda_.after(Duration{chance_.between(0, noticed_within.us)},
                [this, connection] { cut(connection); });
  return true;
}

// With this message or those behind it still under way.
void Network::perhaps_cut(const std::shared_ptr<Connection>& connection) {
  if (faults_.strikes(Fault::connection_cut)) cut(connection);
}

void Network::carry(Instant& last, std::function<void()> arrive) {
  Instant due = agenda_.now() + latency();
  if (faults_.strikes(Fault::message_delayed)) {
    const Duration most = chance_.one_in(4) ? long_delay_max : delay_max;
    due = due + Duration{chance_.between(0, most.us)};
  }
  if (!faults_.strikes(Fault::message_reordered))
    due = last = std::max(due, last + microseconds(1));
  if (faults_.strikes(Fault::message_duplicated)) {
    agenda_.at(due + Duration{chance_.between(0, copy_after_max.us)}, arrive);
  }
  agenda_.at(due, std::move(arrive));
}

void Network::cut(const std::shared_ptr<Connection>& connection) {
  const auto tell_host = [connection] {
    if (std::exchange(connection->host_open, false)) connection->host->disconnected(connection);
  };
  const auto tell_plane = [connection] {
    if (std::exchange(connection->plane_open, false)) connection->plane->disconnected(*connection);
  };
  const bool late = faults_.strikes(Fault::half_open);
  const Duration wait = late ? Duration{chance_.between(0, half_open_max.us)} : latency();
  const bool host_first = chance_.one_in(2);
  agenda_.after(host_first ? latency() : wait, tell_host);
  agenda_.after(host_first ? wait : latency(), tell_plane);
}

}  // namespace keel::sim
