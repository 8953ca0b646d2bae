// What every store must do, whatever it is made of: a suite over candidates. A program that has a
// store to try links the store_*_contract.cpp files and names its candidate:
//
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(sqlite_candidate()), ...);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/records.h"
#include "ports/store.h"
#include "tests/contract/sample.h"

namespace keel {

// Where a store keeps its rows.
class StorePlace {
 public:
  virtual ~StorePlace() = default;

  // One more store, or reader, on the same rows, as another program would open it.
  virtual std::unique_ptr<Store> open(const Retention& retention) = 0;
  std::unique_ptr<Store> open() { return open({}); }
  virtual std::unique_ptr<Records> open_records() = 0;

  // What a kill of the machine's programs leaves: from here on open() finds the rows as they are
  // now, and what was opened before no longer reaches them.
  virtual void crash() = 0;
};

struct Candidate {
  std::string name;
  std::function<std::unique_ptr<StorePlace>()> make_place;  // an empty one
};

// All that a store tells, to be compared.
struct Contents {
  Seq seq;
  Instant at;
  FencingToken last_token;
  std::vector<Job> open_jobs;
  std::vector<Job> jobs;            // all of them, newest first
  std::vector<JobSpec> specs;       // of `jobs`
  std::vector<StoredEvent> events;  // of `jobs` that are not in `cut_jobs`, in that order
  std::vector<JobId> cut_jobs;      // those of `jobs` whose events are no longer kept
  std::vector<StoredEvent> log;     // as far as it is whole
  std::vector<Node> nodes;
  std::vector<Holding> holdings;
  friend bool operator==(const Contents&, const Contents&) = default;
};

Contents contents_of(Store& store, Records& records);

// The last event of which the log is not whole any more; 0 for a log that was never cut.
Seq cut_of(Records& records);

class StoreContract : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override;

  // A clean end and a new start, or an end without warning and a new start. `epoch_` stays.
  void reopen();
  void crash();

  Contents contents() { return contents_of(*store_, *records_); }

  // The batch as the next one here: see sample.h.
  Batch fitted(Batch batch) const { return fit(std::move(batch), seq_, last_token_); }

  // Appends the fitted batch, which must succeed, and gives the job that it changes.
  Job append(Batch batch);

  // Appends `batch` as it is, which must fail and leave no trace. Gives the code.
  StoreError::Code refused(const Batch& batch);

  Retention retention_{};  // with which reopen() opens
  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Records> records_;
  Epoch epoch_;
  Seq seq_;
  FencingToken last_token_;
};

}  // namespace keel
