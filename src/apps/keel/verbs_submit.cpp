#include <chrono>
#include <ostream>
#include <random>

#include "apps/keel/follow.h"
#include "apps/keel/local_files.h"
#include "apps/keel/patience.h"
#include "apps/keel/verbs.h"
#include "apps/keel/words.h"
#include "model/limits.h"
#include "wire/text.h"
#include "wire/tree.h"

namespace keel::cli {
namespace {

// A key nobody else uses: with it, asking again after a lost answer makes no second job.
std::string fresh_key() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device chance;
  std::string key = "cli-";
  for (int i = 0; i < 32; ++i) key += digits[chance() & 15];
  return key;
}

ClientError local_error(const Upload& upload, const std::string& help) {
  ClientError error{.code = ClientError::Code::refused};
  error.error.set_code("invalid");
  error.error.set_field("files");
  error.error.set_value(upload.from.string());
  error.error.set_help(help);
  return error;
}

Result<Done, ClientError> upload_file(const Session& session, const Upload& upload) {
  const auto content = read_content(upload.from, limits::file_bytes_max);
  if (!content) return local_error(upload, content.error().why);
  if (sha256(content->bytes) != upload.digest) {
    return local_error(upload, "It was changed just now; submit again.");
  }
  v1::PutFileRequest request;
  request.set_content(content->bytes);
  Patience patience(session.submit_again_for);
  while (true) {
    const auto stored = session.client.put_file(request);
    if (stored) return Done{};
    if (stored.error().code == ClientError::Code::unreachable) return stored.error();
    if (!patience.again(stored.error())) return stored.error();
  }
}

// What a person needs who wants the same job, and not a second one.
void tell_key(const Session& session, const std::string& key) {
  session.err << "keel: it may have been submitted; say --key " << printable(key)
              << " as well, and it is submitted once\n";
}

Result<v1::SubmitResponse, ClientError> send(const Session& session, const Plan& plan,
                                             const std::string& key) {
  for (const Upload& upload : plan.uploads) {
    TRY(uploaded, upload_file(session, upload));
  }
  v1::SubmitRequest request;
  *request.mutable_spec() = plan.spec;
  request.set_key(key.empty() ? fresh_key() : key);
  Patience patience(session.submit_again_for);
  bool was_reached = false;
  while (true) {
    auto answer = session.client.submit(request);
    if (answer) return answer;
    const bool unreachable = answer.error().code == ClientError::Code::unreachable;
    if (unreachable && !was_reached) return answer;
    if (is_passing(answer.error()) && !was_reached) {
      session.err << "keel: no answer yet, trying again\n";
    }
    was_reached = true;
    if (patience.again(answer.error())) continue;
    const bool refused = answer.error().error.code() == "busy";  // then nothing was done
    if (is_passing(answer.error()) && !refused) tell_key(session, request.key());
    return answer;
  }
}

}  // namespace

int submit(const Session& session, const Command& command, const Surroundings& surroundings) {
  const auto plan = plan_submission(command.said, surroundings);
  if (!plan) return fail(session, plan.error());
  const auto answer = send(session, *plan, command.said.key);
  if (!answer) return fail(session, answer.error());
  if (command.format == Format::json) {
    session.out << print_json(*answer);
  } else if (command.format == Format::yaml) {
    session.out << print_yaml(*answer);
  } else {
    session.out << answer->job() << (answer->existing() ? " existing\n" : " created\n");
  }
  return exit_done;
}

int run(const Session& session, const Command& command, const Surroundings& surroundings) {
  const auto plan = plan_submission(command.said, surroundings);
  if (!plan) return fail(session, plan.error());
  const auto answer = send(session, *plan, command.said.key);
  if (!answer) return fail(session, answer.error());
  session.err << "job " << answer->job() << (answer->existing() ? " existing\n" : " created\n");
  v1::GetJobRequest request;
  request.set_job(answer->job());
  const auto view = session.client.get_job(request);
  if (!view) return fail(session, view.error());
  const Following following{.job = answer->job(),
                            .tells_states = true,
                            .cancels = true,
                            .lines = {.prefix = view->job().shape().tasks() > 1},
                            .tasks = tasks_to_show(*view, session.err)};
  const auto last = follow(session, following);
  if (!last) {
    session.err << "keel: job " << answer->job() << " goes on; keel logs -f " << answer->job()
                << " shows the rest\n";
    return fail(session, last.error());
  }
  if (!*last) return exit_canceled;
  if (!(*last)->reason_text().empty()) session.err << printable((*last)->reason_text()) << "\n";
  return exit_code_of((*last)->job());
}

}  // namespace keel::cli
