#include "apps/keel/follow.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "apps/keel/interrupt.h"
#include "apps/keel/words.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int idle_wait_ms = 250;  // how late a line of output may be
constexpr std::chrono::seconds reconnect_for{60};
constexpr std::chrono::seconds last_lines_within{5};  // of a job that has ended
constexpr std::chrono::seconds reason_every{2};
constexpr std::uint32_t tasks_shown_max = 64;

v1::GetJobRequest request_for(const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  return request;
}

class Follower {
 public:
  Follower(const Session& session, const Following& what)
      : session_(session),
        what_(what),
        watch_(session, what.job),
        writer_(session, what.lines),
        patience_(reconnect_for) {}

  Result<std::optional<v1::JobView>, ClientError> run() {
    while (true) {
      if (obey_interrupts()) return std::optional<v1::JobView>();
      TRY(turned, turn());
      if (!turned) continue;
      if (is_done()) break;
    }
    return last_look();
  }

 private:
  // One round of hearing and reading; false where it has to be repeated.
  Result<bool, ClientError> turn() {
    if (auto heard = watch_.hear(is_idle_ ? idle_wait_ms : 0); !heard) return endure(heard.error());
    tell_states();
    choose_attempt();
    is_idle_ = true;
    if (reader_) {
      auto part = reader_->read(writer_, 0);
      if (!part) return endure(part.error());
      is_idle_ = !part->any;
    }
    if (patience_.is_waiting() && what_.tells_states) writer_.note("keel: going on");
    patience_.restore();
    tell_reason();
    return true;
  }

  // True where following ends at once.
  bool obey_interrupts() {
    const int count = interrupts();
    if (count == interrupts_seen_) return false;
    interrupts_seen_ = count;
    if (!what_.cancels || count > 1) return true;
    writer_.note("keel: canceling " + what_.job + "; press Ctrl-C again to leave at once");
    v1::CancelJobRequest request;
    request.set_job(what_.job);
    const auto canceled = session_.client.cancel_job(request);
    if (!canceled) fail(session_, canceled.error());
    return false;
  }

  Result<bool, ClientError> endure(const ClientError& error) {
    if (!patience_.is_waiting() && is_passing(error)) {
      writer_.note("keel: " + fault_lines(error.error).front() + " (keel goes on trying)");
    }
    // A job that is over is not waited for as long: only its last lines are at stake.
    if (watch_.is_over() && ended_at_ && SteadyClock::now() - *ended_at_ > last_lines_within) {
      writer_.note("keel: the end of its output could not be read");
      gave_up_ = true;
      return true;
    }
    if (watch_.is_over() && !ended_at_) ended_at_ = SteadyClock::now();
    if (!patience_.again(error)) return error;
    return false;
  }

  void tell_states() {
    const auto& stays = watch_.timeline().stays();
    for (; told_ < stays.size(); ++told_) {
      if (!what_.tells_states) continue;
      const Stay& stay = stays[told_];
      std::string words = local_clock(stay.entered) + " " + std::string(print(stay.state));
      if (!stay.because.empty()) words += ": " + printable(stay.because);
      writer_.note(words);
    }
  }

  // While a job waits, why: asked for now and then, told when it changes.
  void tell_reason() {
    const auto& job = watch_.timeline().job();
    if (!what_.tells_states || !job || job->state != JobState::queued) return;
    const auto now = SteadyClock::now();
    if (reason_asked_ && now - *reason_asked_ < reason_every) return;
    reason_asked_ = now;
    const auto view = session_.client.get_job(request_for(what_.job));
    if (!view || view->job().reason() == reason_told_ || view->reason_text().empty()) return;
    if (view->job().state() != v1::QUEUED) return;
    reason_told_ = view->job().reason();
    writer_.note("         waiting: " + printable(view->reason_text()));
  }

  // A new attempt has logs of its own; those of the one before are read to their end first.
  void choose_attempt() {
    const auto& job = watch_.timeline().job();
    if (!job || job->attempt.value == 0) return;
    if (what_.attempt && reader_) return;
    const std::uint32_t attempt = what_.attempt.value_or(job->attempt.value);
    if (attempt == attempt_) return;
    const bool began = watch_.was(JobState::launching) || is_terminal(job->state);
    if (!began || (reader_ && !reader_->ended() && !is_terminal(job->state))) return;
    attempt_ = attempt;
    reader_.emplace(session_.client, what_.job, attempt, what_.tasks);
  }

  bool is_done() {
    if (gave_up_) return true;
    const auto& job = watch_.timeline().job();
    const bool over = watch_.is_over();
    if (over && !ended_at_) ended_at_ = SteadyClock::now();
    if (what_.attempt && reader_ && reader_->ended()) return true;
    if (!over) return false;
    const bool ran = job && job->attempt.value != 0 && watch_.was(JobState::launching);
    if (!ran || !reader_ || (attempt_ == job->attempt.value && reader_->ended())) return true;
    return is_idle_ && SteadyClock::now() - *ended_at_ > last_lines_within;
  }

  Result<std::optional<v1::JobView>, ClientError> last_look() {
    while (true) {
      auto view = session_.client.get_job(request_for(what_.job));
      if (view) return std::optional(*std::move(view));
      if (!patience_.again(view.error())) return view.error();
    }
  }

  const Session& session_;
  const Following& what_;
  Watch watch_;
  LineWriter writer_;
  Patience patience_;
  std::optional<LogReader> reader_;
  std::uint32_t attempt_{};
  std::size_t told_{};
  bool is_idle_{};
  bool gave_up_{};
  int interrupts_seen_{};
  std::string reason_told_;
  std::optional<SteadyClock::time_point> reason_asked_;
  std::optional<SteadyClock::time_point> ended_at_;
};

}  // namespace

Result<Done, ClientError> Watch::hear(int wait_ms) {
  v1::ListEventsRequest request;
  request.set_job(job_);
  request.set_wait_ms(wait_ms);
  while (true) {
    request.set_after(after_);
    TRY(page, session_.client.list_events(request));
    for (const v1::Event& event : page.events()) {
      const auto added = timeline_.add(event);
      if (added) continue;
      ClientError error{.code = ClientError::Code::refused};
      error.error.set_help("This keel does not understand an event of the job (" +
                           added.error().what + "); is it older than the control plane?");
      return error;
    }
    if (page.events_size() == 0) return Done{};
    after_ = page.next();
    request.set_wait_ms(0);
  }
}

bool Watch::is_over() const { return timeline_.job() && is_terminal(timeline_.job()->state); }

Result<std::optional<v1::JobView>, ClientError> follow(const Session& session,
                                                       const Following& what) {
  return Follower(session, what).run();
}

std::vector<std::uint32_t> tasks_to_show(const v1::JobView& view, std::ostream& err) {
  const std::uint32_t all = std::max<std::uint32_t>(view.job().shape().tasks(), 1);
  std::vector<std::uint32_t> tasks;
  for (std::uint32_t task = 0; task < std::min(all, tasks_shown_max); ++task) tasks.push_back(task);
  if (all > tasks_shown_max) {
    err << "keel: showing the first " << tasks_shown_max << " of " << all
        << " tasks; --task shows another\n";
  }
  return tasks;
}

}  // namespace keel::cli
