#include "adapters/http/rest.h"

#include <algorithm>
#include <utility>

#include "adapters/http/message.h"
#include "model/limits.h"
#include "wire/tree.h"

namespace keel {
namespace {

unsigned status_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return 400;
    case ErrorCode::unauthenticated:
      return 401;
    case ErrorCode::denied:
      return 403;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::busy:
      return 429;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

// "application/json; charset=utf-8" is application/json.
bool is_of_type(std::string_view sent, std::string_view due) {
  sent = sent.substr(0, sent.find(';'));
  while (sent.ends_with(' ')) sent.remove_suffix(1);
  return std::equal(sent.begin(), sent.end(), due.begin(), due.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

struct Found {
  const Rest::Route* route{};
  std::string job;
  std::string allow;  // of the path, where no route has the method
};

Found find_route(std::string_view method, std::string_view path) {
  Found found;
  for (const Rest::Route& route : Rest::routes()) {
    auto job = match(route.path, path);
    if (!job) continue;
    if (route.method == method) return {&route, *job, ""};
    found.allow += (found.allow.empty() ? "" : ", ") + std::string(route.method);
  }
  return found;
}

HttpAnswer no_such_route(const Found& found, const HttpHead& head, const Target& target) {
  if (found.allow.empty()) {
    return Rest::refusal(
        refuse(ErrorCode::not_found, {"path", target.path, "", "There is no such path."}));
  }
  HttpAnswer answer = Rest::refusal(refuse(ErrorCode::invalid, {"method", head.method, found.allow,
                                                                "This path has other methods."}),
                                    405);
  answer.allow = found.allow;
  return answer;
}

std::optional<pb::ApiError> no_query(const Target& target) {
  if (target.query.empty()) return std::nullopt;
  const auto& [name, value] = target.query.front();
  return refuse(ErrorCode::invalid, {name, value, "no query", "Say it in the body."});
}

}  // namespace

const std::vector<Rest::Route>& Rest::routes() {
  static constexpr std::string_view json = "application/json", any = "";
  static constexpr std::size_t none = 0, small = body_bytes_max, file = limits::file_bytes_max;
  static const std::vector<Route> table{
      {"GET", "/healthz", none, any, true, &Rest::health},
      {"POST", "/v1/jobs", small, json, false, &Rest::submit},
      {"GET", "/v1/jobs", none, any, false, &Rest::list_jobs},
      {"GET", "/v1/jobs/{job}", none, any, false, &Rest::get_job},
      {"POST", "/v1/jobs/{job}:cancel", small, any, false, &Rest::cancel_job},
      {"GET", "/v1/jobs/{job}/events", none, any, false, &Rest::list_events},
      {"GET", "/v1/jobs/{job}/logs", none, any, false, &Rest::read_log},
      {"PUT", "/v1/files", file, any, false, &Rest::put_file},
      {"GET", "/v1/nodes", none, any, false, &Rest::list_nodes},
  };
  return table;
}

Result<Rest::Accepted, HttpAnswer> Rest::look(const Peer& peer, HttpHead head) const {
  if (head.repeated) {
    return refusal(refuse(ErrorCode::invalid, {"header", "", "each field once",
                                               "A field that decides something is there twice."}));
  }
  if (auto wrong = Gate::wrong_host(peer, head.host)) return refusal(*wrong);
  if (head.origin) {
    if (auto wrong = Gate::wrong_origin(peer, *head.origin)) return refusal(*wrong);
  }
  auto target = parse_target(head.target);
  Found found = target ? find_route(head.method, target->path) : Found{};
  auto caller = gate_.admit(peer, head.authorization);
  if (!caller && !(found.route && found.route->open)) return refusal(caller.error());
  if (!target) {
    return refusal(refuse(ErrorCode::invalid, {"path", head.target, "/path?name=value&… in UTF-8",
                                               "Percent-encode what is not plain."}));
  }
  if (!found.route) return no_such_route(found, head, *target);
  if (head.content_length.value_or(0) > found.route->body_bytes_max) {
    return refusal(
        refuse(ErrorCode::too_large,
               {"body", std::to_string(*head.content_length) + " bytes",
                std::to_string(found.route->body_bytes_max) + " bytes",
                found.route->body_bytes_max ? "Make it smaller." : "This method takes no body."}));
  }
  std::string_view type = found.route->content_type;
  if (!type.empty() && !is_of_type(head.content_type, type)) {
    return refusal(refuse(ErrorCode::invalid, {"Content-Type", head.content_type, type,
                                               "Say what the body is in a Content-Type header."}),
                   415);
  }
  Caller who = caller ? *caller : Caller{};
  return Accepted{found.route,
                  {who, std::move(head), std::move(*target), std::move(found.job), ""}};
}

void Rest::serve(Accepted accepted, std::string body, Answered answered) {
  accepted.call.body = std::move(body);
  (this->*accepted.route->serve)(std::move(accepted.call), std::move(answered));
}

HttpAnswer Rest::refusal(const pb::ApiError& error) {
  return refusal(error, status_for(code_of(error)));
}

HttpAnswer Rest::refusal(const pb::ApiError& error, unsigned status) {
  std::string text = print_json(error);
  while (text.ends_with('\n')) text.pop_back();
  return {status, "application/json", "{\"error\": " + text + "}\n", ""};
}

template <class Request, class Response>
void Rest::ask(const Call& call, const Request& request, Answered answered,
               void (Front::*method)(const Caller&, const Request&, Reply<Response>)) {
  (front_.*method)(call.caller, request, [answered](Result<Response, pb::ApiError> result) {
    answered([result = std::move(result)] {
      if (!result) return refusal(result.error());
      return HttpAnswer{200, "application/json", print_json(*result), ""};
    });
  });
}

// A request that is said by path and query.
template <class Request, class Response>
void Rest::ask(Call& call, Answered answered,
               void (Front::*method)(const Caller&, const Request&, Reply<Response>)) {
  Request request;
  constexpr bool of_a_job = requires { request.set_job(""); };
  if (auto bad = fill_from_query(request, call.target, of_a_job ? "job" : "")) {
    return answered([bad = *bad] { return refusal(bad); });
  }
  if constexpr (of_a_job) request.set_job(call.job);
  ask(call, request, std::move(answered), method);
}

void Rest::health(Call, Answered answered) {
  answered([] { return HttpAnswer{200, "text/plain", "ok\n", ""}; });
}

void Rest::submit(Call call, Answered answered) {
  pb::SubmitRequest request;
  auto bad = no_query(call.target);
  if (!bad) bad = fill_from_body(request, call.body);
  const std::string& key = call.head.idempotency_key;
  if (!bad && !key.empty() && !request.key().empty() && request.key() != key) {
    bad = refuse(
        ErrorCode::invalid,
        {"key", request.key(), "the same as in the Idempotency-Key header", "Say the key once."});
  }
  if (bad) return answered([bad = *bad] { return refusal(bad); });
  if (!key.empty()) request.set_key(key);
  ask(call, request, std::move(answered), &Front::submit);
}

void Rest::put_file(Call call, Answered answered) {
  if (auto bad = no_query(call.target)) return answered([bad = *bad] { return refusal(bad); });
  pb::PutFileRequest request;
  request.set_content(std::move(call.body));
  ask(call, request, std::move(answered), &Front::put_file);
}

void Rest::cancel_job(Call call, Answered answered) {
  pb::CancelJobRequest said;
  std::optional<pb::ApiError> bad;
  if (!call.body.empty()) bad = fill_from_body(said, call.body);
  if (!bad && !said.job().empty()) {
    bad = refuse(ErrorCode::invalid, {"job", said.job(), "the path has said it", "Say it once."});
  }
  if (bad) return answered([bad = *bad] { return refusal(bad); });
  ask(call, std::move(answered), &Front::cancel_job);
}

void Rest::get_job(Call call, Answered answered) {
  ask(call, std::move(answered), &Front::get_job);
}

void Rest::list_jobs(Call call, Answered answered) {
  ask(call, std::move(answered), &Front::list_jobs);
}

void Rest::list_events(Call call, Answered answered) {
  ask(call, std::move(answered), &Front::list_events);
}

void Rest::read_log(Call call, Answered answered) {
  ask(call, std::move(answered), &Front::read_log);
}

void Rest::list_nodes(Call call, Answered answered) {
  ask(call, std::move(answered), &Front::list_nodes);
}

}  // namespace keel
