// Stores that released versions have written, with jobs in every state, opened by this one
// (KNOWN-FAULTS, B-F5). store_of_version_1.sql is a dump of what version 1 made of the steps below.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "sim/model_store.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

// What was stored, played into the obvious store.
void play(ModelStore& store) {
  const Epoch epoch = store.take_over().value();
  Seq seq;
  FencingToken token;
  const auto append = [&](Batch batch) {
    const Batch next = fit(std::move(batch), seq, token);
    token = next.last_token;
    seq = store.append(epoch, seq, next).value();
    return next.jobs.empty() ? Job{} : next.jobs.front();
  };
  append(report_of(sample_node("node-1")));
  for (std::uint64_t n = 0; n < job_state_count; ++n) {
    const auto state = static_cast<JobState>(n);
    Job job = append(submission_of(sample_job(100 + n, "ada", "key " + std::to_string(n)),
                                   sample_spec("spec " + std::to_string(n % 3))));
    job = append(change_of(job, JobState::queued));
    if (n >= 2 && state != JobState::expired && state != JobState::rejected) {
      job = append(reservation_of(job, {n}, {"GPU-" + std::to_string(n)}));
      if (state == JobState::succeeded || state == JobState::failed) {
        job = append(settlement_of(job));
      }
    }
    append(change_of(job, state));
  }
}

TEST(SqliteUpgrade, a_store_of_version_1_is_read_and_written_on) {
  char pattern[] = "/tmp/keel-upgrade-XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  const std::string path = std::string(pattern) + "/keel.db";
  {
    std::ifstream file(SOURCE_DIR "/tests/contract/store_of_version_1.sql");
    std::stringstream dump;
    dump << file.rdbuf();
    const auto database = sqlite::Database::open(path, sqlite::Access::write).value();
    ASSERT_FALSE(dump.str().empty());
    ASSERT_TRUE(database->run(dump.str().c_str()));
  }
  const auto rows = std::make_shared<ModelRows>();
  ModelStore model(rows, {10});
  ModelRecords model_records(rows);
  play(model);
  rows->cut = {};  // version 1 cut nothing

  const auto store = SqliteStore::open(path, {.retention = {10}});
  ASSERT_TRUE(store) << store.error().detail;
  const auto records = SqliteRecords::open(path).value();
  ASSERT_EQ(contents_of(**store, *records), contents_of(model, model_records));

  // The cut comes over the old rows, and the old jobs go on.
  const Epoch epoch = (*store)->take_over().value();
  ASSERT_EQ(model.take_over().value(), epoch);
  Loaded now = model.load().value();
  for (int more = 0; more < 40; ++more) {
    const Job& job = now.jobs[static_cast<std::size_t>(more) % now.jobs.size()];
    const Batch batch = fit(change_of(job, JobState::unknown), now.seq, now.last_token);
    ASSERT_TRUE(model.append(epoch, now.seq, batch));
    ASSERT_TRUE((*store)->append(epoch, now.seq, batch));
    now = model.load().value();
  }
  const Contents contents = contents_of(**store, *records);
  ASSERT_EQ(contents, contents_of(model, model_records));
  EXPECT_FALSE(contents.cut_jobs.empty());
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace keel
