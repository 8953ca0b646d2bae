#include <filesystem>

#include "adapters/sqlite/records.h"
#include "adapters/sqlite/store.h"
#include "base/check.h"
#include "tests/contract/store_contract.h"

namespace keel {
namespace {

// A directory of its own for each life of the database.
class SqlitePlace final : public StorePlace {
 public:
  SqlitePlace() {
    char pattern[] = "/tmp/keel-store-XXXXXX";
    check(mkdtemp(pattern) != nullptr, "there is room for a test's files");
    root_ = pattern;
    std::filesystem::create_directory(directory());
  }
  SqlitePlace(const SqlitePlace&) = delete;
  SqlitePlace& operator=(const SqlitePlace&) = delete;
  ~SqlitePlace() override { std::filesystem::remove_all(root_); }

  std::unique_ptr<Store> open(const Retention& retention) override {
    auto store = SqliteStore::open(path(), {.retention = retention});
    if (!store) ADD_FAILURE() << store.error().detail;
    return store ? *std::move(store) : nullptr;
  }
  std::unique_ptr<Records> open_records() override {
    auto records = SqliteRecords::open(path());
    if (!records) ADD_FAILURE() << records.error().detail;
    return records ? *std::move(records) : nullptr;
  }

  // The files as a killed program leaves them: the log not yet moved into the database, and no
  // shared memory, which does not outlive the machine.
  void crash() override {
    const std::string before = path();
    life_ += 1;
    std::filesystem::create_directory(directory());
    for (const char* suffix : {"", "-wal"}) {
      if (!std::filesystem::exists(before + suffix)) continue;
      std::filesystem::copy_file(before + suffix, path() + suffix);
    }
  }

 private:
  std::string directory() const { return root_ + "/life-" + std::to_string(life_); }
  std::string path() const { return directory() + "/keel.db"; }

  std::string root_;
  int life_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract,
                         testing::Values(Candidate{"sqlite",
                                                   [] { return std::make_unique<SqlitePlace>(); }}),
                         [](const auto& candidate) { return candidate.param.name; });

}  // namespace
}  // namespace keel
