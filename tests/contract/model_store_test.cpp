#include "sim/model_store.h"

#include "tests/contract/store_contract.h"

namespace keel {
namespace {

class ModelPlace final : public StorePlace {
 public:
  std::unique_ptr<Store> open(const Retention& retention) override {
    return std::make_unique<ModelStore>(rows_, retention);
  }
  std::unique_ptr<Records> open_records() override { return std::make_unique<ModelRecords>(rows_); }
  // Nothing is lost by a crash that memory would not have lost anyway; what was opened before is
  // cut off by a copy.
  void crash() override {
    const auto copy = std::make_shared<ModelRows>();
    static_cast<ModelContents&>(*copy) = *rows_;
    rows_ = copy;
  }

 private:
  std::shared_ptr<ModelRows> rows_ = std::make_shared<ModelRows>();
};

INSTANTIATE_TEST_SUITE_P(Model, StoreContract,
                         testing::Values(Candidate{"model",
                                                   [] { return std::make_unique<ModelPlace>(); }}),
                         [](const auto& candidate) { return candidate.param.name; });

}  // namespace
}  // namespace keel
