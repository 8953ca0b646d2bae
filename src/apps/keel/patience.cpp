#include "apps/keel/patience.h"

#include "apps/keel/interrupt.h"

namespace keel::cli {
namespace {

constexpr int pause_ms = 250;

}  // namespace

bool is_passing(const ClientError& error) {
  if (error.code != ClientError::Code::refused) return true;
  return error.error.code() == "unavailable" || error.error.code() == "busy";
}

bool Patience::again(const ClientError& error) {
  const auto now = SteadyClock::now();
  if (!began_) began_ = now;
  if (!is_passing(error) || now - *began_ > limit_) return false;
  sleep_ms(pause_ms);
  return true;
}

}  // namespace keel::cli
