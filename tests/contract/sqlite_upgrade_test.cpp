// Stores that released versions have written, with jobs in every state and events of every kind,
// opened by this one (KNOWN-FAULTS, B-F5). store_of_version_N.sql is a dump of what version N made
// of the steps below.
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

// One of each kind that version 2 knew, but Submitted. What is added to these types later has its
// default here, as it has in what was written before.
std::vector<JobEvent> events_of_version_2(FencingToken token) {
  const Exit exit{.kind = ExitKind::signaled,
                  .code = 9,
                  .cause = StopCause::time_limit,
                  .out_of_memory = true,
                  .clean = true,
                  .text = "too much"};
  return {Admitted{},
          Rejected{Reason::no_such_model},
          Expired{},
          Voided{token, Reason::claim_refused, {7}, 2, "its device is held"},
          TaskPrepared{token, 1},
          Launched{token},
          TaskStarted{token, 3},
          Started{token},
          TaskEnded{token, 4, exit},
          Ended{token},
          TaskSettled{token, 5},
          Succeeded{},
          Failed{Reason::retries_exhausted},
          Requeued{Reason::node_lost, {8}},
          Preempted{token},
          Silenced{},
          Heard{},
          LateSucceeded{token},
          Canceled{}};
}

// Appends fitting batches one after another.
class Player {
 public:
  explicit Player(Store& store) : store_(store), epoch_(store.take_over().value()) {}

  Job append(Batch batch) {
    const Batch next = fit(std::move(batch), seq_, token_);
    token_ = next.last_token;
    seq_ = store_.append(epoch_, seq_, next).value();
    return next.jobs.empty() ? Job{} : next.jobs.front();
  }

 private:
  Store& store_;
  Epoch epoch_;
  Seq seq_;
  FencingToken token_;
};

// Jobs in every state.
void play_version_1(Store& store) {
  Player player(store);
  player.append(report_of(sample_node("node-1")));
  for (std::uint64_t n = 0; n < job_state_count; ++n) {
    const auto state = static_cast<JobState>(n);
    Job job = player.append(submission_of(sample_job(100 + n, "ada", "key " + std::to_string(n)),
                                          sample_spec("spec " + std::to_string(n % 3))));
    job = player.append(change_of(job, JobState::queued));
    if (n >= 2 && state != JobState::expired && state != JobState::rejected) {
      job = player.append(reservation_of(job, {n}, {"GPU-" + std::to_string(n)}));
      if (state == JobState::succeeded || state == JobState::failed) {
        job = player.append(settlement_of(job));
      }
    }
    player.append(change_of(job, state));
  }
}

// Events of every kind.
void play_version_2(Store& store) {
  Player player(store);
  const Node node = sample_node("node-1");
  player.append(report_of(node));
  Job over = player.append(submission_of(sample_job(99, "ada", "over"), sample_spec("spec")));
  over = player.append(reservation_of(over, {1}, {"GPU-0"}));
  player.append(settlement_of(over));
  Job job = player.append(submission_of(sample_job(100, "ada", "key"), sample_spec("spec")));
  job = player.append(reservation_of(job, {2}, {"GPU-0"}));
  for (const JobEvent& event : events_of_version_2(job.token)) {
    Batch batch = change_of(job, JobState::running);
    batch.events.front().fact = JobFact{job.id, event};
    player.append(batch);
  }
  for (const NodeEvent& event : {NodeEvent{NodeSilenced{}}, NodeEvent{NodeHeard{}}}) {
    Batch batch = report_of(node);
    batch.events.front().fact = NodeFact{node.inventory.id, event};
    player.append(batch);
  }
  player.append(report_of(node));
}

struct Version {
  int number{};
  void (*play)(Store& store){};
};

class SqliteUpgrade : public testing::TestWithParam<Version> {};

INSTANTIATE_TEST_SUITE_P(Versions, SqliteUpgrade,
                         testing::Values(Version{1, play_version_1}, Version{2, play_version_2}),
                         [](const auto& named) {
                           return "of_version_" + std::to_string(named.param.number);
                         });

TEST_P(SqliteUpgrade, a_store_is_read_and_written_on) {
  char pattern[] = "/tmp/keel-upgrade-XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  const std::string path = std::string(pattern) + "/keel.db";
  {
    std::ifstream file(SOURCE_DIR "/tests/contract/store_of_version_" +
                       std::to_string(GetParam().number) + ".sql");
    std::stringstream dump;
    dump << file.rdbuf();
    const auto database = sqlite::Database::open(path, sqlite::Access::write).value();
    ASSERT_FALSE(dump.str().empty());
    ASSERT_TRUE(database->run(dump.str().c_str()));
  }
  const auto rows = std::make_shared<ModelRows>();
  ModelStore model(rows, {10});
  ModelRecords model_records(rows);
  GetParam().play(model);
  if (GetParam().number == 1) rows->cut = {};  // it cut nothing

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
