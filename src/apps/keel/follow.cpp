#include "apps/keel/follow.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "apps/keel/interrupt.h"
#include "apps/keel/words.h"
#include "wire/text.h"

namespace keel::cli {
namespace {

constexpr int idle_wait_ms = 250;                     // how late a line of output may be
constexpr std::chrono::seconds last_lines_within{5};  // of a job or an attempt that has ended
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
    patience_.restore();
    tell_states();
    choose_attempt();
    TRY(was_readable, read_output());
    if (was_readable) tell_recovery();
    tell_reason();
    return true;
  }

  // False where the output cannot be read now. The job is what is followed: it goes on without its
  // output, so this fails only where the output is all that was asked for.
  Result<bool, ClientError> read_output() {
    is_idle_ = true;
    if (!reader_) return true;
    const auto part = reader_->read(writer_, 0);
    if (part) {
      is_idle_ = !part->any;
      return true;
    }
    if (is_passing(part.error())) {
      tell_trouble(part.error());
      return false;
    }
    const bool is_gone = part.error().error.code() == "not_found" && !what_.attempt;
    if (!is_gone && !what_.tells_states) return part.error();
    writer_.note("keel: output of attempt " + std::to_string(attempt_) +
                 " is lost: " + printable(part.error().error.help()));
    return true;
  }

  void tell_trouble(const ClientError& error) {
    if (in_trouble_) return;
    in_trouble_ = true;
    writer_.note("keel: " + fault_lines(error.error).front() + " (keel goes on trying)");
  }

  void tell_recovery() {
    if (in_trouble_ && what_.tells_states) writer_.note("keel: going on");
    in_trouble_ = false;
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
    if (is_passing(error)) tell_trouble(error);
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
      const Stay& stay = stays[told_];
      if (!what_.tells_states) {
        const bool again = stay.state == JobState::queued && !stay.because.empty();
        if (again && reader_) writer_.note("keel: the job is queued: " + printable(stay.because));
        continue;
      }
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

  // A new attempt has logs of its own; those of the one before are read to their end first, or as
  // long as something comes of them.
  void choose_attempt() {
    if (what_.attempt && reader_) return;
    const std::uint32_t launched = watch_.timeline().launched().value;
    const std::uint32_t attempt = what_.attempt.value_or(launched);
    if (attempt == attempt_ || (launched == 0 && !watch_.is_over())) return;
    if (reader_) {
      const auto now = SteadyClock::now();
      if (!newer_since_) newer_since_ = now;
      const bool is_silent = is_idle_ && now - *newer_since_ > last_lines_within;
      if (!reader_->ended() && !is_silent) return;
      writer_.note("keel: " + words_for_switch(attempt));
      in_trouble_ = false;
    }
    attempt_ = attempt;
    newer_since_.reset();
    ended_at_.reset();
    reader_.emplace(session_.client, what_.job, attempt, what_.tasks);
  }

  std::string words_for_switch(std::uint32_t attempt) const {
    std::string next = "output of attempt " + std::to_string(attempt) + " follows";
    if (reader_->ended()) return next;
    return "the end of the output of attempt " + std::to_string(attempt_) + " could not be read; " +
           next;
  }

  bool is_done() {
    if (gave_up_) return true;
    const bool over = watch_.is_over();
    if (over && !ended_at_) ended_at_ = SteadyClock::now();
    if (what_.attempt && reader_ && reader_->ended()) return true;
    if (!over) return false;
    if (!reader_) return true;
    if (!what_.attempt && attempt_ != watch_.timeline().launched().value) return false;
    if (reader_->ended()) return true;
    if (!is_idle_ || SteadyClock::now() - *ended_at_ <= last_lines_within) return false;
    if (in_trouble_) writer_.note("keel: the end of its output could not be read");
    return true;
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
  bool in_trouble_{};  // and it was said
  bool gave_up_{};
  int interrupts_seen_{};
  std::string reason_told_;
  std::optional<SteadyClock::time_point> reason_asked_;
  std::optional<SteadyClock::time_point> newer_since_;  // an attempt after `attempt_`
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
