#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace keel {

void check(bool holds, const char* promise, std::source_location where) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s (%s:%u, %s)\n", promise, where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

}  // namespace keel
