#include "agent/shim.h"

#include <gtest/gtest.h>

#include <csignal>

namespace keel {
namespace {

constexpr Instant at(std::int64_t s) { return Instant{seconds(s).us}; }

constexpr ShimTerms terms{.time_limit = seconds(100), .grace = seconds(10)};
const Exit exit_3{.kind = ExitKind::exited, .code = 3, .clean = true};

// A state reached the usual way: started at second 0, running, one process left.
ShimState running_since_0() {
  ShimState state = step({}, terms, {.now = at(0), .lease = at(50)}).state;
  return step(state, terms, {.now = at(0), .lease = at(50), .started = true, .left = true}).state;
}

ShimSeen alive(Instant now, Instant lease = at(50)) {
  return {.now = now, .lease = lease, .started = true, .left = true, .heeding = true};
}

ShimSeen ended(Instant now, Exit exit = exit_3) {
  return {.now = now, .lease = at(50), .started = true, .ended = exit};
}

TEST(Shim, a_task_is_started_runs_and_its_end_is_recorded_once) {
  const ShimStep first = step({}, terms, {.now = at(0), .lease = at(50)});
  EXPECT_TRUE(first.orders.start);
  const ShimStep second = step(running_since_0(), terms, alive(at(1)));
  EXPECT_FALSE(second.orders.start || second.orders.notify || second.orders.kill);
  EXPECT_EQ(second.orders.wake_at, at(50)) << "the lease ends before the limit's notice";

  const ShimStep last = step(second.state, terms, ended(at(2)));
  ASSERT_TRUE(last.orders.record);
  EXPECT_EQ(*last.orders.record, exit_3);
  EXPECT_TRUE(last.orders.leave);
  const ShimStep after = step(last.state, terms, ended(at(3)));
  EXPECT_FALSE(after.orders.record);
  EXPECT_TRUE(after.orders.leave);
}

TEST(Shim, what_may_not_run_any_more_is_never_started) {
  const ShimStep stopped =
      step({}, terms, {.now = at(0), .lease = at(50), .stop = StopCause::canceled});
  EXPECT_FALSE(stopped.orders.start);
  ASSERT_TRUE(stopped.orders.record);
  EXPECT_EQ(stopped.orders.record->kind, ExitKind::not_started);
  EXPECT_EQ(stopped.orders.record->cause, StopCause::canceled);
  EXPECT_TRUE(stopped.orders.record->clean);
  EXPECT_TRUE(stopped.orders.leave);

  const ShimStep too_late = step({}, terms, {.now = at(50), .lease = at(50)});
  EXPECT_FALSE(too_late.orders.start);
  EXPECT_EQ(too_late.orders.record.value_or(exit_3).cause, StopCause::lease);
}

// What stops a running task, when it is told, and when it is killed for it.
struct Row {
  const char* name;
  Instant last_quiet;  // the last second at which nothing happens
  ShimSeen seen;
  StopCause cause;
  Instant kill_at;
};
const Row rows[] = {
    {"an order counts its grace from when it is seen",
     at(6),
     {.now = at(7), .lease = at(50), .stop = StopCause::preempted, .started = true, .left = true},
     StopCause::preempted,
     at(17)},
    {"a lease counts its grace from its end, even when that is seen late", at(49), alive(at(53)),
     StopCause::lease, at(60)},
    {"the grace lies inside the limit", at(89), alive(at(90), never), StopCause::time_limit,
     at(100)},
    {"an order comes before the limit that is due as well",
     at(89),
     {.now = at(90), .lease = never, .stop = StopCause::canceled, .started = true, .left = true},
     StopCause::canceled,
     at(100)},
    {"an order that is seen late gives no grace beyond the lease's",
     at(6),
     {.now = at(57), .lease = at(50), .stop = StopCause::canceled, .started = true, .left = true},
     StopCause::canceled,
     at(60)},
};

TEST(Shim, each_cause_gives_notice_grace_and_kill) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ShimState state = running_since_0();
    const ShimStep quiet = step(state, terms, alive(row.last_quiet, row.seen.lease));
    EXPECT_FALSE(quiet.orders.notify || quiet.orders.kill);

    const ShimStep notice = step(quiet.state, terms, row.seen);
    EXPECT_TRUE(notice.orders.notify);
    EXPECT_FALSE(notice.orders.kill);
    EXPECT_EQ(notice.orders.wake_at, row.kill_at);

    const ShimStep before = step(notice.state, terms, alive(row.kill_at - microseconds(1), at(0)));
    EXPECT_FALSE(before.orders.notify) << "notice is given once";
    EXPECT_FALSE(before.orders.kill);
    const ShimStep kill = step(before.state, terms, alive(row.kill_at));
    EXPECT_TRUE(kill.orders.kill);

    const Exit killed{.kind = ExitKind::signaled, .code = SIGKILL, .clean = true};
    const ShimStep end = step(kill.state, terms, ended(row.kill_at + milliseconds(20), killed));
    ASSERT_TRUE(end.orders.record);
    EXPECT_EQ(end.orders.record->cause, row.cause);
    EXPECT_TRUE(end.orders.record->clean);
    EXPECT_EQ(end.orders.record->code, SIGKILL);
  }
}

TEST(Shim, a_limit_that_is_seen_after_the_leases_grace_gives_none) {
  const ShimStep notice = step(running_since_0(), terms, alive(at(93)));
  EXPECT_TRUE(notice.orders.notify);
  EXPECT_TRUE(step(notice.state, terms, alive(at(93))).orders.kill);
}

TEST(Shim, the_first_cause_stays_and_an_extended_lease_takes_nothing_back) {
  const ShimStep notice = step(running_since_0(), terms, alive(at(50)));
  ShimSeen more = alive(at(55), at(1000));
  more.stop = StopCause::canceled;
  const ShimStep later = step(notice.state, terms, more);
  EXPECT_EQ(later.state.cause, StopCause::lease);
  EXPECT_EQ(later.orders.wake_at, at(60));
}

TEST(Shim, an_end_that_comes_with_the_order_is_the_tasks_own) {
  ShimSeen both = ended(at(5));
  both.stop = StopCause::canceled;
  const ShimStep last = step(running_since_0(), terms, both);
  ASSERT_TRUE(last.orders.record);
  EXPECT_EQ(last.orders.record->cause, StopCause::none);
}

TEST(Shim, a_main_process_that_ends_by_itself_takes_the_rest_along_at_once) {
  ShimSeen rest = ended(at(5));
  rest.left = true;
  rest.heeding = true;
  const ShimStep kill = step(running_since_0(), terms, rest);
  EXPECT_TRUE(kill.orders.kill);
  EXPECT_FALSE(kill.orders.record) << "something of it still lives";
  EXPECT_LE(kill.orders.wake_at, at(6));
  EXPECT_TRUE(step(kill.state, terms, ended(at(6))).orders.record);
}

TEST(Shim, after_a_notice_those_that_heed_it_keep_their_grace) {
  ShimSeen order = alive(at(5));
  order.stop = StopCause::preempted;
  const ShimState stopping = step(running_since_0(), terms, order).state;

  ShimSeen saving = ended(at(6));
  saving.left = saving.heeding = true;
  EXPECT_FALSE(step(stopping, terms, saving).orders.kill);
  EXPECT_LE(step(stopping, terms, saving).orders.wake_at, at(7));

  ShimSeen deaf = ended(at(6));
  deaf.left = true;
  EXPECT_TRUE(step(stopping, terms, deaf).orders.kill);
}

TEST(Shim, a_stop_before_the_program_runs_kills_without_grace) {
  const ShimState starting = step({}, terms, {.now = at(0), .lease = at(50)}).state;
  const ShimStep kill = step(
      starting, terms, {.now = at(1), .lease = at(50), .stop = StopCause::canceled, .left = true});
  EXPECT_TRUE(kill.orders.kill);
  EXPECT_FALSE(kill.orders.notify);
}

TEST(Shim, a_program_that_cannot_be_started_is_recorded_with_its_text) {
  const ShimState starting = step({}, terms, {.now = at(0), .lease = at(50)}).state;
  const Exit text{.kind = ExitKind::not_started,
                  .clean = true,
                  .text = "program: /x: No such file or directory"};
  const ShimStep last = step(starting, terms, {.now = at(1), .lease = at(50), .ended = text});
  EXPECT_EQ(last.orders.record.value_or(exit_3), text);
}

// B-E12, B-E15
TEST(Shim, what_survives_the_kill_bound_is_recorded_as_not_clean_and_again_when_it_is_gone) {
  ShimSeen rest = ended(at(5));
  rest.left = true;
  ShimStep now = step(running_since_0(), terms, rest);
  rest.now = at(34);
  now = step(now.state, terms, rest);
  EXPECT_FALSE(now.orders.record);
  rest.now = at(35);
  now = step(now.state, terms, rest);
  ASSERT_TRUE(now.orders.record);
  EXPECT_FALSE(now.orders.record->clean);
  EXPECT_EQ(now.orders.record->code, 3);
  EXPECT_FALSE(now.orders.leave);
  rest.now = at(36);
  now = step(now.state, terms, rest);
  EXPECT_TRUE(now.orders.kill);
  EXPECT_FALSE(now.orders.record) << "said once";
  now = step(now.state, terms, ended(at(90)));
  ASSERT_TRUE(now.orders.record);
  EXPECT_TRUE(now.orders.record->clean);
  EXPECT_TRUE(now.orders.leave);
}

TEST(Shim, a_main_process_that_survives_every_kill_is_recorded_as_killed) {
  ShimSeen order = alive(at(5));
  order.stop = StopCause::canceled;
  ShimStep now = step(running_since_0(), terms, order);
  now = step(now.state, terms, alive(at(15)));
  now = step(now.state, terms, alive(at(45)));
  ASSERT_TRUE(now.orders.record);
  EXPECT_EQ(now.orders.record->kind, ExitKind::signaled);
  EXPECT_FALSE(now.orders.record->clean);
  const Exit late{.kind = ExitKind::signaled, .code = SIGTERM, .clean = true};
  now = step(now.state, terms, ended(at(60), late));
  EXPECT_EQ(now.orders.record.value_or(exit_3).code, SIGKILL) << "what was recorded is final";
}

TEST(Shim, no_limit_and_an_endless_lease_wake_nobody) {
  const ShimTerms endless{.time_limit = {}, .grace = hours(1)};
  ShimState state = step({}, endless, {.now = at(0), .lease = never}).state;
  const ShimStep now = step(state, endless, alive(at(0), never));
  EXPECT_EQ(now.state.phase, ShimPhase::running);
  EXPECT_EQ(now.orders.wake_at, never);
}

TEST(Shim, a_grace_longer_than_the_limit_means_notice_at_once) {
  const ShimTerms short_limit{.time_limit = seconds(5), .grace = seconds(10)};
  ShimState state = step({}, short_limit, {.now = at(7), .lease = never}).state;
  const ShimStep now = step(state, short_limit, alive(at(7), never));
  EXPECT_TRUE(now.orders.notify);
  EXPECT_EQ(now.orders.wake_at, at(12));
}

}  // namespace
}  // namespace keel
