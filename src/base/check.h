// A promise that the program makes to itself. Always on: a broken promise is our bug, and going on
// would turn it into somebody's lost job.
#pragma once

#include <source_location>

namespace keel {

// Ends the process, printing `promise` and where it stood, when `holds` is false.
//
// promise   what should have held, in words, as a statement ("a GPU is taken once").
void check(bool holds, const char* promise,
           std::source_location where = std::source_location::current());

}  // namespace keel
