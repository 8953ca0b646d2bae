#include <chrono>
#include <ostream>

#include "apps/keel/follow.h"
#include "apps/keel/interrupt.h"
#include "apps/keel/verbs.h"
#include "apps/keel/words.h"
#include "wire/convert.h"
#include "wire/quantity.h"

namespace keel::cli {
namespace {

constexpr int wait_step_ms = 500;  // how soon Ctrl-C and --timeout are obeyed

struct Waiting {
  std::optional<JobState> state{};  // none: the end
  std::optional<Duration> timeout{};
};

// What --for and --timeout say, or exit_usage after saying what is wrong.
Result<Waiting, int> waiting_of(const Session& session, const Command& command) {
  Waiting waiting;
  if (command.until_state) {
    waiting.state = parse_job_state(*command.until_state);
    if (!waiting.state) {
      (void)fail(session, {FieldError{.field = "--for",
                                      .value = *command.until_state,
                                      .limit = "a state of jobs, such as running or succeeded",
                                      .help = "There is no such state."}});
      return exit_usage;
    }
  }
  if (command.timeout) {
    waiting.timeout = parse_duration(*command.timeout);
    if (!waiting.timeout) {
      (void)fail(session, {FieldError{.field = "--timeout",
                                      .value = *command.timeout,
                                      .limit = "a duration, such as 90s or 2h30m",
                                      .help = "It cannot be read."}});
      return exit_usage;
    }
  }
  return waiting;
}

int end_of_wait(const Session& session, const Waiting& waiting, const v1::GetJobRequest& request,
                bool reached) {
  if (waiting.state && reached) return exit_done;
  const auto view = session.client.get_job(request);
  if (!view) return fail(session, view.error());
  if (!waiting.state) return exit_code_of(view->job());
  session.err << "keel: job " << request.job() << " ended as " << word_of(view->job().state())
              << " and was never " << print(*waiting.state) << "\n";
  return exit_error;
}

}  // namespace

int cancel(const Session& session, const Command& command) {
  int code = exit_done;
  for (const std::string& job : command.jobs) {
    v1::CancelJobRequest request;
    request.set_job(job);
    const auto answer = session.client.cancel_job(request);
    if (!answer) {
      code = fail(session, answer.error());
      continue;
    }
    session.out << answer->job() << " " << word_of(answer->state());
    session.out << (answer->state() == v1::CANCELED ? "\n" : " (it had ended before)\n");
  }
  return code;
}

int wait(const Session& session, const Command& command) {
  const auto waiting = waiting_of(session, command);
  if (!waiting) return waiting.error();
  v1::GetJobRequest request;
  request.set_job(command.jobs[0]);
  const auto view = session.client.get_job(request);
  if (!view) return fail(session, view.error());
  request.set_job(view->job().id());
  // Of a job that ended long ago there may be no events any more.
  const auto state = from_pb(view->job().state());
  if (!waiting->state && state && is_terminal(*state)) return exit_code_of(view->job());

  const auto began = SteadyClock::now();
  Watch watch(session, request.job());
  Patience patience(reconnect_for);
  while (interrupts() == 0) {
    const auto heard = watch.hear(wait_step_ms);
    if (!heard && !patience.again(heard.error())) return fail(session, heard.error());
    if (heard) patience.restore();
    const bool reached = waiting->state && watch.was(*waiting->state);
    if (reached || watch.is_over()) return end_of_wait(session, *waiting, request, reached);
    const auto limit = waiting->timeout;
    if (limit && SteadyClock::now() - began > std::chrono::microseconds(limit->us)) {
      session.err << "keel: job " << request.job() << " is still "
                  << (watch.timeline().job() ? print(watch.timeline().job()->state) : "there")
                  << " after " << print(*limit) << "\n";
      return exit_time_limit;
    }
  }
  session.err << "keel: job " << request.job() << " goes on\n";
  return exit_canceled;
}

}  // namespace keel::cli
