// SIGTERM asks for a checkpoint and the end, SIGUSR1 for a checkpoint only. Both are merely noted
// here and seen between two steps, where the weights are whole.
#pragma once

namespace keel::digits {

// Call once, before any thread exists.
void note_signals();

bool stop_asked();

// True once per request.
bool take_save_request();

}  // namespace keel::digits
