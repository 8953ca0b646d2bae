#include "control/recover.h"

namespace keel {

Result<Recovered, StoreError> recover(Store& store) {
  TRY(epoch, store.take_over());
  TRY(loaded, store.load());
  return Recovered{epoch, std::move(loaded)};
}

}  // namespace keel
