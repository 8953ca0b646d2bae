#include "adapters/inbox/feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace keel {
namespace {

using std::chrono::milliseconds;

// Becomes ready when its function is called.
struct Called {
  std::shared_ptr<std::promise<void>> promise = std::make_shared<std::promise<void>>();
  std::future<void> future = promise->get_future();
  std::function<void()> function() {
    return [promise = promise] { promise->set_value(); };  // a second call would throw
  }
  bool within(milliseconds time) { return future.wait_for(time) == std::future_status::ready; }
};

constexpr milliseconds soon{5000}, a_little{50};

TEST(Feed, a_waiter_goes_when_its_job_changes_and_not_for_another) {
  Timer timer;
  Feed feed(timer);
  Called called;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), called.function()));
  feed.committed(Seq{1}, {JobId{2}});
  EXPECT_FALSE(called.within(a_little));
  feed.committed(Seq{2}, {JobId{3}, JobId{1}});
  EXPECT_TRUE(called.within(soon));
  feed.committed(Seq{3}, {JobId{1}});  // would call it twice
}

TEST(Feed, all_waiters_of_one_job_go) {
  Timer timer;
  Feed feed(timer);
  Called first, second;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), first.function()));
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), second.function()));
  feed.committed(Seq{1}, {JobId{1}});
  EXPECT_TRUE(first.within(soon));
  EXPECT_TRUE(second.within(soon));
}

TEST(Feed, a_change_between_reading_and_waiting_is_not_missed) {
  Timer timer;
  Feed feed(timer);
  feed.committed(Seq{4}, {JobId{9}});
  Seq seen = feed.seq();
  feed.committed(Seq{5}, {JobId{1}});
  Called called;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, seen, hours(1), called.function()));
  EXPECT_TRUE(called.within(soon));
  Called other;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, feed.seq(), hours(1), other.function()));
  EXPECT_FALSE(other.within(a_little)) << "nothing new since then";
}

TEST(Feed, a_waiter_goes_at_its_deadline) {
  Timer timer;
  Feed feed(timer);
  Called called;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, keel::milliseconds(20), called.function()));
  EXPECT_TRUE(called.within(soon));
  feed.committed(Seq{1}, {JobId{1}});
}

TEST(Feed, a_very_late_waiter_goes_at_once_since_its_change_may_be_forgotten) {
  Timer timer;
  Feed feed(timer);
  feed.committed(Seq{1}, {JobId{1}});
  std::vector<JobId> others;
  for (std::uint64_t n = 0; n < Feed::changes_kept; ++n) others.push_back(JobId{n + 2});
  feed.committed(Seq{2}, others);
  Called late, exact;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{0}, hours(1), late.function()));
  EXPECT_TRUE(late.within(soon));
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{1}, hours(1), exact.function()));
  EXPECT_FALSE(exact.within(a_little));
}

TEST(Feed, waiters_are_bounded_and_a_place_becomes_free) {
  Timer timer;
  Feed feed(timer);
  std::atomic<int> calls{};
  for (std::size_t n = 0; n < Feed::waiters_max; ++n) {
    ASSERT_TRUE(feed.wait_for_change(JobId{1 + n % 2}, Seq{}, hours(1), [&] { ++calls; }));
  }
  EXPECT_FALSE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), [&] { ++calls; }));
  feed.committed(Seq{1}, {JobId{1}});
  EXPECT_TRUE(feed.wait_for_change(JobId{2}, Seq{}, hours(1), [&] { ++calls; }));
  feed.close();
  Called last;
  timer.after(Duration{}, last.function());
  EXPECT_TRUE(last.within(soon));
  EXPECT_EQ(calls, static_cast<int>(Feed::waiters_max) + 1);
}

TEST(Feed, after_closing_nobody_waits) {
  Timer timer;
  Feed feed(timer);
  Called before, after;
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), before.function()));
  feed.close();
  EXPECT_TRUE(before.within(soon));
  ASSERT_TRUE(feed.wait_for_change(JobId{1}, Seq{}, hours(1), after.function()));
  EXPECT_TRUE(after.within(soon));
}

TEST(Timer, what_is_due_first_runs_first_and_what_is_canceled_never) {
  Timer timer;
  std::vector<int> ran;
  Called last;
  timer.after(keel::milliseconds(40), [&] { ran.push_back(2); });
  timer.after(keel::milliseconds(20), [&] { ran.push_back(1); });
  Timer::Id canceled = timer.after(keel::milliseconds(30), [&] { ran.push_back(9); });
  timer.after(keel::milliseconds(60), last.function());
  EXPECT_TRUE(timer.cancel(canceled));
  EXPECT_FALSE(timer.cancel(canceled));
  ASSERT_TRUE(last.within(soon));
  EXPECT_EQ(ran, (std::vector{1, 2}));
}

TEST(Timer, after_stop_nothing_runs) {
  Timer timer;
  std::atomic<bool> ran{};
  timer.after(keel::milliseconds(20), [&] { ran = true; });
  timer.stop();
  timer.after(Duration{}, [&] { ran = true; });
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(ran);
}

TEST(Timer, stop_runs_what_is_due_and_drops_the_rest) {
  Timer timer;
  std::atomic<int> ran{};
  timer.after(Duration{},
              [&] { std::this_thread::sleep_for(a_little); });  // keeps the others waiting
  for (int i = 0; i < 10; ++i) timer.after(Duration{}, [&] { ++ran; });
  timer.after(hours(1), [&] { ran = 100; });
  timer.stop();
  EXPECT_EQ(ran, 10);
}

}  // namespace
}  // namespace keel
