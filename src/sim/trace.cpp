#include "sim/trace.h"

#include <iomanip>
#include <ostream>
#include <string>

namespace keel::sim {

void Trace::add(std::string_view text) {
  for (const char byte : text) {
    digest_ = (digest_ ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
}

void Trace::say(Instant at, std::string_view who, std::string_view what) {
  add(std::to_string(at.us));
  add(who);
  add(what);
  if (out_ == nullptr) return;
  *out_ << std::fixed << std::setprecision(6) << std::setw(14) << static_cast<double>(at.us) / 1e6
        << "  " << std::left << std::setw(10) << who << std::right << what << '\n';
}

}  // namespace keel::sim
