#include "adapters/sqlite/position.h"

#include <variant>

namespace keel::sqlite {
namespace {

StoreError broken(const char* promise, Seq seq) {
  return {StoreError::Code::conflict,
          std::string(promise) + " (seq " + std::to_string(seq.value) + ")"};
}

const Reserved* reservation_of(const Fact& fact) {
  const auto* job_fact = std::get_if<JobFact>(&fact);
  return job_fact != nullptr ? std::get_if<Reserved>(&job_fact->event) : nullptr;
}

}  // namespace

Result<Position, StoreError> read_position(Database& database) {
  Query query = database.query("SELECT epoch, seq, at_us, last_token, cut FROM meta");
  const auto row = query.next();
  if (!row) return to_store_error(row.error());
  if (!*row) return StoreError{StoreError::Code::unreadable, "meta has no row"};
  return Position{.epoch = {static_cast<std::uint64_t>(query.integer(0))},
                  .seq = {static_cast<std::uint64_t>(query.integer(1))},
                  .at = {query.integer(2)},
                  .last_token = {static_cast<std::uint64_t>(query.integer(3))},
                  .cut = {static_cast<std::uint64_t>(query.integer(4))}};
}

Result<Done, StoreError> write_position(Database& database, const Position& position) {
  Query query =
      database.query("UPDATE meta SET epoch = ?, seq = ?, at_us = ?, last_token = ?, cut = ?");
  query.bind(static_cast<std::int64_t>(position.epoch.value))
      .bind(static_cast<std::int64_t>(position.seq.value))
      .bind(position.at.us)
      .bind(static_cast<std::int64_t>(position.last_token.value))
      .bind(static_cast<std::int64_t>(position.cut.value));
  if (const auto done = query.next(); !done) return to_store_error(done.error());
  return Done{};
}

Result<Position, StoreError> advance(const Position& before, const Batch& batch,
                                     const Retention& retention) {
  Position position = before;
  for (const StoredEvent& event : batch.events) {
    position.seq.value += 1;
    if (event.seq != position.seq) return broken("events are numbered without gaps", event.seq);
    if (event.at < position.at) return broken("time never goes back", event.seq);
    position.at = event.at;
    if (const Reserved* reserved = reservation_of(event.fact)) {
      if (reserved->token <= position.last_token) {
        return broken("a token is above all earlier ones", event.seq);
      }
      position.last_token = reserved->token;
    }
  }
  if (batch.last_token < position.last_token) {
    return broken("the last token never goes down", position.seq);
  }
  position.last_token = batch.last_token;
  position.cut = cut_after(before.cut, position.seq, batch.events.size(), retention);
  return position;
}

}  // namespace keel::sqlite
