#include "tests/contract/store_contract.h"

namespace keel {
namespace {

constexpr std::size_t all = 1'000'000;

}  // namespace

void StoreContract::SetUp() {
  place_ = GetParam().make_place();
  store_ = place_->open();
  records_ = place_->open_records();
  epoch_ = store_->take_over().value();
}

void StoreContract::reopen() {
  records_.reset();
  store_.reset();
  store_ = place_->open(retention_);
  records_ = place_->open_records();
}

void StoreContract::crash() {
  place_->crash();
  reopen();
}

Contents contents_of(Store& store, Records& records) {
  const Loaded loaded = store.load().value();
  Contents contents{.seq = loaded.seq,
                    .at = loaded.at,
                    .last_token = loaded.last_token,
                    .open_jobs = loaded.jobs,
                    .jobs = {},
                    .specs = {},
                    .events = {},
                    .cut_jobs = {},
                    .log = records.log(cut_of(records), all).value(),
                    .nodes = loaded.nodes,
                    .holdings = loaded.holdings};
  const JobFilter everything{.states = {}, .user = {}, .before = {}, .limit = all};
  const std::vector<JobRecord> rows = records.jobs(everything).value();
  for (const JobRecord& record : rows) {
    contents.jobs.push_back(record.job);
    contents.specs.push_back(record.spec);
    const auto events = records.events(record.job.id, Seq{}, all);
    if (events) {
      contents.events.insert(contents.events.end(), events->begin(), events->end());
    } else {
      EXPECT_EQ(events.error().code, StoreError::Code::cut) << events.error().detail;
      contents.cut_jobs.push_back(record.job.id);
    }
  }
  EXPECT_EQ(records.nodes().value(), loaded.nodes);
  EXPECT_EQ(records.holdings().value(), loaded.holdings);
  return contents;
}

Seq cut_of(Records& records) {
  const auto first = records.log(Seq{}, 1);
  if (first) return Seq{};
  EXPECT_EQ(first.error().code, StoreError::Code::cut) << first.error().detail;
  return Seq{first.error().first_kept.value - 1};
}

Job StoreContract::append(Batch batch) {
  const Batch next = fitted(std::move(batch));
  const auto seq = store_->append(epoch_, seq_, next);
  if (!seq) {
    ADD_FAILURE() << "refused: " << seq.error().detail;
    return {};
  }
  EXPECT_EQ(seq->value, seq_.value + next.events.size());
  seq_ = *seq;
  last_token_ = next.last_token;
  return next.jobs.empty() ? Job{} : next.jobs.front();
}

StoreError::Code StoreContract::refused(const Batch& batch) {
  const Contents before = contents();
  const auto seq = store_->append(epoch_, seq_, batch);
  EXPECT_FALSE(seq);
  EXPECT_EQ(contents(), before) << "a refused batch left something behind";
  return seq ? StoreError::Code::unknown : seq.error().code;
}

}  // namespace keel
