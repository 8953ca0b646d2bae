#include <chrono>
#include <ostream>

#include "apps/keel/follow.h"
#include "apps/keel/patience.h"
#include "apps/keel/show.h"
#include "apps/keel/verbs.h"
#include "apps/keel/words.h"
#include "model/job.h"
#include "wire/suggest.h"
#include "wire/tree.h"

namespace keel::cli {
namespace {

Look look_of(const Command& command) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.now = {std::chrono::duration_cast<std::chrono::microseconds>(now).count()},
          .wide = command.format == Format::wide};
}

// True where the answer was printed as it is.
bool print_plainly(const Session& session, Format format,
                   const google::protobuf::Message& message) {
  if (format == Format::json) session.out << print_json(message);
  if (format == Format::yaml) session.out << print_yaml(message);
  return format == Format::json || format == Format::yaml;
}

FieldError unknown_state(const std::string& word) {
  std::vector<std::string> words;
  std::string all;
  for (std::size_t i = 0; i < job_state_count; ++i) {
    words.emplace_back(print(static_cast<JobState>(i)));
    all += (all.empty() ? "" : ", ") + words.back();
  }
  const std::string meant = nearest(word, words);
  return {.field = "--state",
          .value = word,
          .limit = all,
          .help = meant.empty() ? "There is no such state." : "Did you mean \"" + meant + "\"?"};
}

Result<v1::JobView, ClientError> find(const Session& session, const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  return session.client.get_job(request);
}

// The log as it is now, without waiting.
int print_logs(const Session& session, const Following& following, std::uint32_t attempt) {
  LineWriter writer(session, following.lines);
  LogReader reader(session.client, following.job, attempt, following.tasks);
  reader.stop_at_present();
  int code = exit_done;
  bool any = false;
  while (!reader.ended()) {
    const auto part = reader.read(writer, 0);
    if (!part) {
      code = fail(session, part.error());
      if (is_passing(part.error())) return code;
      continue;
    }
    any = any || part->any;
    if (!part->any) break;
  }
  if (!any && !reader.ended()) {
    session.err << "keel: attempt " << attempt << " of job " << following.job
                << " has written nothing yet; -f waits for it\n";
  }
  return code;
}

}  // namespace

int jobs(const Session& session, const Command& command) {
  v1::ListJobsRequest request;
  for (const std::string& word : command.states) {
    const auto state = parse_job_state(word);
    if (!state) {
      (void)fail(session, {unknown_state(word)});
      return exit_usage;
    }
    request.add_states(static_cast<v1::JobState>(static_cast<int>(*state) + 1));
  }
  request.set_user(command.user);
  request.set_limit(command.limit);
  const auto page = session.client.list_jobs(request);
  if (!page) return fail(session, page.error());
  if (print_plainly(session, command.format, *page)) return exit_done;
  session.out << show_jobs(*page, look_of(command));
  if (!page->next().empty()) session.err << "keel: there are older ones; --limit shows more\n";
  return exit_done;
}

int describe(const Session& session, const Command& command) {
  const auto view = find(session, command.jobs[0]);
  if (!view) return fail(session, view.error());
  if (!print_plainly(session, command.format, *view)) {
    session.out << show_job(*view, look_of(command));
  }
  return exit_done;
}

int nodes(const Session& session, const Command& command) {
  const auto answer = session.client.list_nodes({});
  if (!answer) return fail(session, answer.error());
  if (!print_plainly(session, command.format, *answer)) {
    session.out << show_nodes(*answer, look_of(command));
  }
  return exit_done;
}

int events(const Session& session, const Command& command) {
  // "last" may be another job with the next page.
  const auto view = find(session, command.jobs[0]);
  if (!view) return fail(session, view.error());
  v1::ListEventsResponse all;
  v1::ListEventsRequest request;
  request.set_job(view->job().id());
  while (true) {
    const auto page = session.client.list_events(request);
    if (!page) return fail(session, page.error());
    all.mutable_events()->MergeFrom(page->events());
    all.set_next(page->next());
    all.set_state(page->state());
    if (page->events_size() == 0) break;
    request.set_after(page->next());
  }
  if (print_plainly(session, command.format, all)) return exit_done;
  Timeline timeline;
  for (const v1::Event& event : all.events()) {
    const auto added = timeline.add(event);
    if (!added) session.err << "keel: an event was left out: " << added.error().what << "\n";
  }
  session.out << print_timeline(timeline, look_of(command).now);
  return exit_done;
}

int logs(const Session& session, const Command& command) {
  const auto view = find(session, command.jobs[0]);
  if (!view) return fail(session, view.error());
  Following following{.job = view->job().id(), .attempt = command.attempt};
  following.tasks = command.task ? std::vector{*command.task} : tasks_to_show(*view, session.err);
  following.lines = {.timestamps = command.timestamps, .prefix = following.tasks.size() > 1};
  if (!command.follow) {
    const std::uint32_t attempt = command.attempt.value_or(view->job().attempt());
    if (attempt != 0) return print_logs(session, following, attempt);
    session.err << "keel: job " << view->job().id() << " is " << word_of(view->job().state())
                << " and has not started yet; -f waits for it\n";
    return exit_done;
  }
  const auto last = follow(session, following);
  if (!last) return fail(session, last.error());
  return *last ? exit_done : exit_canceled;
}

}  // namespace keel::cli
