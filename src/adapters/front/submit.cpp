// What changes something: submissions, files, cancellations.
#include <algorithm>

#include "adapters/front/front.h"
#include "model/limits.h"
#include "wire/convert.h"
#include "wire/spec.h"

namespace keel {
namespace {

std::optional<pb::ApiError> bad_key(const std::string& key) {
  bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (plain && key.size() <= limits::key_bytes_max) return std::nullopt;
  return refuse(ErrorCode::invalid,
                {"key", key, std::to_string(limits::key_bytes_max) + " printable ASCII characters",
                 "An idempotency key is a short word of your own, without spaces."});
}

pb::ApiError not_asked(AskError error) {
  switch (error) {
    case AskError::busy:
      return refuse(ErrorCode::busy,
                    {"", "", std::to_string(Inbox::requests_max) + " waiting requests",
                     "Nothing was done. Try again in a moment."});
    case AskError::closed:
      return refuse(
          ErrorCode::unavailable,
          {"", "", "", "The control plane is stopping. Nothing was done; try again later."});
  }
  return refuse(ErrorCode::internal, {});
}

// An answer that is not the one hoped for.
pb::ApiError not_done(const AnswerKind& answer) {
  if (std::holds_alternative<NotStored>(answer)) {
    return refuse(ErrorCode::unavailable,
                  {"", "", "",
                   "The store did not answer: this may or may not have been done. Send the same "
                   "request with the same key again."});
  }
  if (auto* unknown = std::get_if<NoSuchJob>(&answer)) {
    return refuse(ErrorCode::not_found, {"job", print(unknown->job), "", "There is no such job."});
  }
  return refuse(ErrorCode::internal, {"", "", "", "The control plane answered another question."});
}

Result<pb::SubmitResponse, pb::ApiError> response_to(const std::string& key,
                                                     const AnswerKind& answer) {
  if (auto* submitted = std::get_if<SubmitAnswer>(&answer)) {
    pb::SubmitResponse response;
    response.set_job(print(submitted->job));
    response.set_existing(submitted->existing);
    return response;
  }
  if (auto* conflict = std::get_if<KeyConflict>(&answer)) {
    return refuse(ErrorCode::conflict,
                  {"key", key, "",
                   "With this key you have submitted job " + print(conflict->first) +
                       ", which asks for something else. Choose another key for another job."});
  }
  return not_done(answer);
}

}  // namespace

void Front::submit(const Caller& caller, const pb::SubmitRequest& request,
                   Reply<pb::SubmitResponse> reply) {
  auto said = parse_spec(request.spec());
  if (!said) return reply(refuse(said.error()));
  if (auto bad = bad_key(request.key())) return reply(*bad);
  auto owner = owner_of(caller);
  if (!owner) return reply(owner.error());
  if (auto missing = missing_file(request.spec(), *said)) return reply(*missing);

  SubmitInput input{{}, *owner, request.key(), said_digest(*said), {}, parts_.complete(*said)};
  input.spec_digest = spec_digest(input.spec);
  auto asked = parts_.inbox.ask(
      [&](Ticket ticket) {
        input.ticket = ticket;
        return std::move(input);
      },
      [reply, key = request.key()](AnswerKind answer) { reply(response_to(key, answer)); });
  if (!asked) reply(not_asked(asked.error()));
}

std::optional<pb::ApiError> Front::missing_file(const pb::JobSpec& spec, const SaidSpec& said) {
  for (const TakenFile& file : said.files) {
    if (parts_.files.has(file.digest)) continue;
    int index = 0;  // in the order in which the caller wrote them
    while (index + 1 < spec.files_size() && spec.files(index).path() != file.path) ++index;
    return refuse(ErrorCode::invalid,
                  {"files[" + std::to_string(index) + "].digest", print(file.digest), "",
                   "The control plane does not have this file. Upload it first."});
  }
  return std::nullopt;
}

Result<Owner, pb::ApiError> Front::owner_of(const Caller& caller) {
  if (caller.door == Caller::Door::local) return people_.find(caller.uid, caller.gid);
  if (parts_.token_owner) return *parts_.token_owner;
  return refuse(
      ErrorCode::denied,
      {"", "", "",
       "The operator's token names no person whose job this could be. Use the Unix socket, "
       "or start keeld with a user for the token."});
}

void Front::put_file(const Caller& caller, const pb::PutFileRequest& request,
                     Reply<pb::PutFileResponse> reply) {
  (void)caller;  // everybody who was let in may bring files
  if (request.content().size() > limits::file_bytes_max) {
    return reply(refuse(ErrorCode::too_large,
                        {"content", std::to_string(request.content().size()) + " bytes",
                         std::to_string(limits::file_bytes_max) + " bytes",
                         "Put large inputs where every node can read them."}));
  }
  auto stored = parts_.files.put(request.content());
  if (!stored) {
    bool full = stored.error().code == FilesError::Code::full;
    return reply(refuse(ErrorCode::unavailable,
                        {"content", "", "",
                         full ? "The control plane has no room for more files. Ask its operator."
                              : "The file could not be stored. Try again later."}));
  }
  pb::PutFileResponse response;
  response.set_digest(print(*stored));
  reply(std::move(response));
}

void Front::cancel_job(const Caller& caller, const pb::CancelJobRequest& request,
                       Reply<pb::CancelJobResponse> reply) {
  auto record = find(caller, request.job());
  if (!record) return reply(record.error());
  JobId job = record->job.id;
  if (!may_act(caller, record->job.owner)) {
    return reply(refuse(ErrorCode::denied, {"job", print(job), "its owner, or an operator",
                                            "Only " + record->job.owner.user +
                                                " or an operator may cancel this job."}));
  }
  auto answered = [reply](const AnswerKind& answer) {
    auto* canceled = std::get_if<CancelAnswer>(&answer);
    if (!canceled) return reply(not_done(answer));
    pb::CancelJobResponse response;
    response.set_job(print(canceled->job));
    response.set_state(to_pb(canceled->state));
    reply(std::move(response));
  };
  auto asked = parts_.inbox.ask([&](Ticket ticket) { return CancelInput{ticket, job}; }, answered);
  if (!asked) reply(not_asked(asked.error()));
}

}  // namespace keel
