#include "sim/plants.h"

#include <algorithm>
#include <array>

namespace keel::sim {
namespace {

using enum Plant;

constexpr std::array<PlantKind, plant_count - 1> kinds{{
    {effect_before_commit, "effect_before_commit", "answers and duties leave before the commit"},
    {unknown_commit_taken_for_done, "unknown_commit_taken_for_done",
     "a commit whose result is unknown is taken for one that succeeded"},
    {key_not_looked_up, "key_not_looked_up", "a submission's key is not looked up in the store"},
    {key_not_stored, "key_not_stored", "a job is stored without its key"},
    {other_spec_under_one_key, "other_spec_under_one_key",
     "another spec under a known key is taken for a retry"},
    {cancel_lost_after_start, "cancel_lost_after_start",
     "a cancel after START is acknowledged and not recorded"},
    {double_terminal, "double_terminal", "a job that is over ends a second time"},
    {row_left_out, "row_left_out", "an event is stored without the live row that it changes"},
    {restart_forgets_tokens, "restart_forgets_tokens",
     "a new leader begins again with the first fencing token"},
    {silence_from_before_the_start, "silence_from_before_the_start",
     "a new leader counts its own absence as the nodes' silence"},
    {silence_taken_for_loss, "silence_taken_for_loss",
     "a silent node's devices are given away before its lease must have ended"},
    {lost_disk_not_noticed, "lost_disk_not_noticed",
     "an agent that has lost its disk speaks for the node, and does not see what runs"},
    {exit_replayed, "exit_replayed", "an earlier attempt's end is taken for the present one's"},
    {freed_at_cancel, "freed_at_cancel", "a cancel frees the devices, not the observed end"},
    {freed_at_unclean_end, "freed_at_unclean_end",
     "devices are free though a process of the task is left"},
    {reservation_not_expired, "reservation_not_expired",
     "a reservation that nobody claims is kept for ever"},
    {gang_launched_in_part, "gang_launched_in_part",
     "START is committed when the last task is prepared, not all"},
    {failure_not_counted, "failure_not_counted", "a failed attempt is not counted"},
    {devices_never_freed, "devices_never_freed", "a requeued job keeps its devices"},
    {token_not_compared, "token_not_compared", "an agent takes an order with an older token"},
    {equal_token_refused, "equal_token_refused",
     "an agent refuses the live reservation's own token after a reconnect"},
    {lease_from_the_wrong_clock, "lease_from_the_wrong_clock",
     "an agent counts its lease from the answer, not from what was answered"},
    {started_not_written, "started_not_written",
     "an agent starts a task before its disk knows of it"},
    {stop_taken_for_the_end, "stop_taken_for_the_end",
     "an agent reports the end when it says stop"},
    {lost_taken_for_success, "lost_taken_for_success", "a lost exit code becomes 0"},
    {answer_to_each_repetition, "answer_to_each_repetition",
     "agent and leader answer each other's repetitions without end"},
    {lease_ignored, "lease_ignored", "a shim lets its task run when the lease is over"},
    {never_killed, "never_killed", "a shim gives notice and never kills"},
    {unclean_end_said_clean, "unclean_end_said_clean",
     "a shim that could not kill says that nothing is left"},
    {stale_epoch_obeyed, "stale_epoch_obeyed", "the store takes the write of an old leader"},
    {tokens_given_again, "tokens_given_again",
     "a store that was put back gives fencing tokens out again"},
    {copy_trusted, "copy_trusted",
     "a store that was put back waits for nothing that was begun after the copy"},
}};

}  // namespace

std::span<const PlantKind> all_plants() { return kinds; }

std::optional<PlantKind> plant_named(std::string_view name) {
  const auto kind = std::ranges::find(kinds, name, &PlantKind::name);
  if (kind == kinds.end()) return std::nullopt;
  return *kind;
}

}  // namespace keel::sim
