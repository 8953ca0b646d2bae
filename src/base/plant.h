// Mistakes that can be put into the shipped code on purpose, to prove that the simulation sees them
// (docs/simulation.md). Each stands at its durable step as `planted(Plant::name)`. In what ships
// KEEL_PLANTS is not defined, planted() is the constant false, and nothing of a mistake is in it.
#pragma once

#include <cstdint>

namespace keel {

enum class Plant : std::uint8_t {
  none,
  // The leader's turn.
  effect_before_commit,
  unknown_commit_taken_for_done,
  key_not_looked_up,
  // The controller.
  key_not_stored,
  other_spec_under_one_key,
  cancel_lost_after_start,
  double_terminal,
  row_left_out,
  restart_forgets_tokens,
  silence_from_before_the_start,
  silence_taken_for_loss,
  lost_disk_not_noticed,
  // The lifecycle.
  exit_replayed,
  freed_at_cancel,
  freed_at_unclean_end,
  reservation_not_expired,
  gang_launched_in_part,
  failure_not_counted,
  devices_never_freed,
  // The agent.
  token_not_compared,
  equal_token_refused,
  lease_from_the_wrong_clock,
  started_not_written,
  stop_taken_for_the_end,
  lost_taken_for_success,
  answer_to_each_repetition,
  // The shim.
  lease_ignored,
  never_killed,
  unclean_end_said_clean,
  // The store of the simulation.
  stale_epoch_obeyed,
  tokens_given_again,
  copy_trusted,
};
inline constexpr std::size_t plant_count = 33;

// The namespaces keep the two apart where both are linked into one program.
#ifdef KEEL_PLANTS
namespace with_plants {
// Whether this thread's world has the mistake.
bool planted(Plant plant);
}  // namespace with_plants
using with_plants::planted;
#else
namespace without_plants {
constexpr bool planted(Plant) { return false; }
}  // namespace without_plants
using without_plants::planted;
#endif

}  // namespace keel
