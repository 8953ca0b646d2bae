#include "adapters/sqlite/read.h"

#include <string>

#include "adapters/sqlite/rows.h"

namespace keel::sqlite {

Result<Seq, StoreError> last_event(Database& database) {
  Query query = database.query("SELECT coalesce(max(seq), 0) FROM events");
  if (const auto row = query.next(); !row) return to_store_error(row.error());
  return Seq{static_cast<std::uint64_t>(query.integer(0))};
}

Result<std::vector<Job>, StoreError> open_jobs(Database& database) {
  Query query =
      database.query("SELECT id, state, said, spec, blob FROM jobs WHERE open = 1 ORDER BY id");
  std::vector<Job> jobs;
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return jobs;
    TRY(job, job_of(query));
    jobs.push_back(std::move(job));
  }
}

Result<std::vector<Node>, StoreError> all_nodes(Database& database) {
  Query query = database.query("SELECT blob FROM nodes ORDER BY name");
  std::vector<Node> nodes;
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return nodes;
    TRY(node, node_of(query.bytes(0)));
    nodes.push_back(std::move(node));
  }
}

Result<std::vector<Holding>, StoreError> all_holdings(Database& database) {
  Query query =
      database.query("SELECT device, job, attempt, task, token FROM holdings ORDER BY device");
  std::vector<Holding> holdings;
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return holdings;
    holdings.push_back({.device = {std::string(query.bytes(0))},
                        .key = {.job = {from_order(query.integer(1))},
                                .attempt = {static_cast<std::uint32_t>(query.integer(2))},
                                .task = static_cast<std::uint32_t>(query.integer(3))},
                        .token = {static_cast<std::uint64_t>(query.integer(4))}});
  }
}

Result<Lost, StoreError> all_lost(Database& database) {
  Query query = database.query("SELECT after, up_to, settled FROM lost_tokens ORDER BY after");
  Lost lost;
  for (;;) {
    const auto row = query.next();
    if (!row) return to_store_error(row.error());
    if (!*row) return lost;
    lost.tokens.push_back({{static_cast<std::uint64_t>(query.integer(0))},
                           {static_cast<std::uint64_t>(query.integer(1))}});
    lost.settling = lost.settling || query.integer(2) == 0;
  }
}

}  // namespace keel::sqlite
