// REST: HTTP requests in, HTTP answers out, the users' service between. Knows nothing of sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/door/gate.h"
#include "adapters/door/peer.h"
#include "adapters/front/front.h"
#include "adapters/http/target.h"
#include "base/result.h"

namespace keel {

// The header of a request, before anything of its body was read. Absent fields are empty, but for
// `origin`, where absent and empty are not the same.
struct HttpHead {
  std::string method;
  std::string target;
  std::string host;
  std::optional<std::string> origin;
  std::string authorization;
  std::string content_type;
  std::string idempotency_key;
  std::optional<std::uint64_t> content_length;  // none: chunked, or no body at all
  bool repeated{};                              // one of the fields above is there twice
};

struct HttpAnswer {
  unsigned status{};
  std::string content_type{"application/json"};
  std::string body;
  std::string allow;  // status 405: the methods that the path has
};

class Rest {
 public:
  static constexpr std::size_t body_bytes_max = 1 << 20;  // but for files: limits::file_bytes_max

  // Making the answer's text may take a while: do it where nothing waits for it.
  using Answered = std::function<void(std::function<HttpAnswer()>)>;

  struct Call {
    Caller caller;
    HttpHead head;
    Target target;
    std::string job;  // from the path
    std::string body;
  };

  struct Route {
    std::string_view method;
    std::string_view path;  // at most one "{job}"
    std::size_t body_bytes_max{};
    std::string_view content_type;  // that a body must have; empty: any
    bool open{};                    // needs no token
    void (Rest::*serve)(Call call, Answered answered){};
  };

  // All of them. docs and tests read it, and a request is matched against nothing else.
  static const std::vector<Route>& routes();

  Rest(Front& front, const Gate& gate) : front_(front), gate_(gate) {}

  // What a request may do, judged by its header alone, in this order: names (Host, Origin), caller,
  // path, method, size, type. The body is worth reading, up to the route's limit, only then.
  struct Accepted {
    const Route* route{};
    Call call;
  };
  Result<Accepted, HttpAnswer> look(const Peer& peer, HttpHead head) const;

  // Calls `answered` once, on any thread, possibly before it returns.
  void serve(Accepted accepted, std::string body, Answered answered);

  // The one error form: {"error": {"code": …}} under the status that belongs to the code.
  static HttpAnswer refusal(const pb::ApiError& error);
  static HttpAnswer refusal(const pb::ApiError& error, unsigned status);

 private:
  template <class Request, class Response>
  void ask(Call& call, Answered answered,
           void (Front::*method)(const Caller&, const Request&, Reply<Response>));
  template <class Request, class Response>
  void ask(const Call& call, const Request& request, Answered answered,
           void (Front::*method)(const Caller&, const Request&, Reply<Response>));

  void health(Call call, Answered answered);
  void submit(Call call, Answered answered);
  void put_file(Call call, Answered answered);
  void get_job(Call call, Answered answered);
  void list_jobs(Call call, Answered answered);
  void cancel_job(Call call, Answered answered);
  void list_events(Call call, Answered answered);
  void read_log(Call call, Answered answered);
  void list_nodes(Call call, Answered answered);

  Front& front_;
  const Gate& gate_;
};

}  // namespace keel
