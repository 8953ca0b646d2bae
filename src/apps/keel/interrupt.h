// Ctrl-C, counted instead of obeyed.
#pragma once

namespace keel::cli {

// From here on SIGINT and SIGTERM only count. Call it before the first thread is started.
void count_interrupts();

// How many came so far. Any thread.
int interrupts();

// Sleeps, and wakes at once when one comes.
void sleep_ms(int milliseconds);

}  // namespace keel::cli
