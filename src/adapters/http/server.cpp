#include "adapters/http/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace keel {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Protocol = asio::generic::stream_protocol;
using Stream = beast::basic_stream<Protocol>;
using Error = boost::system::error_code;

// What is read of a body that was refused, so that the answer is not lost with the connection: a
// kernel drops what it has not yet delivered when a socket with unread bytes is closed.
constexpr std::size_t drained_max = 8 << 20;
constexpr std::size_t piece_bytes = 64 << 10;
constexpr auto drain_within = std::chrono::seconds(2);

bool is_about_http(Error error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::partial_message;
}

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

std::string reason_of(unsigned status) {
  return text(http::obsolete_reason(static_cast<http::status>(status)));
}

HttpHead head_of(const http::request<http::string_body>& request,
                 std::optional<std::uint64_t> content_length) {
  HttpHead head;
  head.method = text(request.method_string());
  head.target = text(request.target());
  head.host = text(request[http::field::host]);
  if (request.count(http::field::origin)) head.origin = text(request[http::field::origin]);
  head.authorization = text(request[http::field::authorization]);
  head.content_type = text(request[http::field::content_type]);
  head.idempotency_key = text(request["Idempotency-Key"]);
  head.content_length = content_length;
  for (auto field :
       {http::field::host, http::field::origin, http::field::authorization,
        http::field::content_type, http::field::content_length, http::field::transfer_encoding}) {
    head.repeated = head.repeated || request.count(field) > 1;
  }
  // Both at once is how a request is hidden within another.
  bool two_lengths = request.count(http::field::content_length) > 0 &&
                     request.count(http::field::transfer_encoding) > 0;
  head.repeated = head.repeated || two_lengths || request.count("Idempotency-Key") > 1;
  return head;
}

std::string print(const HttpAnswer& answer, bool keep, bool with_body = true) {
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " " + reason_of(answer.status);
  out += "\r\nContent-Type: " + answer.content_type;
  out += "\r\nContent-Length: " + std::to_string(answer.body.size());
  out += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff";
  if (!answer.allow.empty()) out += "\r\nAllow: " + answer.allow;
  if (answer.status == 401) out += "\r\nWWW-Authenticate: Bearer";
  if (answer.status == 429 || answer.status == 503) out += "\r\nRetry-After: 1";
  if (!keep) out += "\r\nConnection: close";
  out += "\r\n\r\n";
  return with_body ? out + answer.body : out;
}

HttpAnswer malformed(unsigned status, const char* limit) {
  return Rest::refusal(refuse(ErrorCode::invalid,
                              {"request", "", limit, "This is not HTTP as this server speaks it."}),
                       status);
}

class Connection;

}  // namespace

struct HttpServer::Engine : std::enable_shared_from_this<HttpServer::Engine> {
  Engine(Rest& served, const Options& said) : rest(served), options(said) {}

  Rest& rest;
  const Options options;
  asio::io_context io;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<Connection>> connections;  // the owners
  std::atomic<int> large_bodies{};
  std::atomic<bool> closing{};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::vector<std::thread> threads;
};

namespace {

using Engine = HttpServer::Engine;

// One connection: reads a header, judges it, reads the body, asks, writes the answer, and begins
// anew. Everything runs on its strand. The engine owns it; while it waits for an answer nobody
// else does.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Engine& engine, Stream stream, const Peer& peer)
      : engine_(engine), stream_(std::move(stream)), peer_(peer) {}

  void start() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
  }

  // Ends it unless a request is under way, which is finished first.
  void leave() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      if (!self->busy_) self->finish();
    });
  }

 private:
  void read_header() {
    busy_ = false;
    if (engine_.closing) return finish();
    parser_.emplace();
    parser_->header_limit(HttpServer::header_bytes_max);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // set when the route is known
    read_within(engine_.options.read_within_ms);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, std::size_t) { self->on_header(error); });
  }

  void on_header(Error error) {
    if (error == http::error::end_of_stream || error == beast::error::timeout) return finish();
    if (error == http::error::header_limit) return refuse_rest(malformed(431, "16 KiB of header"));
    busy_ = true;
    if (is_about_http(error)) return refuse_rest(malformed(400, "HTTP/1.1"));
    if (error) return finish();
    const auto& request = parser_->get();
    std::optional<std::uint64_t> length;
    if (auto said = parser_->content_length()) length = *said;
    auto accepted = engine_.rest.look(peer_, head_of(request, length));
    if (!accepted) return refuse_rest(accepted.error());
    accepted_.emplace(std::move(*accepted));
    if (!take_room(length)) return refuse_rest(too_many_bodies());
    parser_->body_limit(accepted_->route->body_bytes_max);
    if (beast::iequals(request[http::field::expect], "100-continue") && !parser_->is_done()) {
      return write_continue();
    }
    read_body();
  }

  static HttpAnswer too_many_bodies() {
    return Rest::refusal(refuse(ErrorCode::busy, {"body", "", "4 large bodies at once",
                                                  "Others are uploading. Try again in a moment."}));
  }

  // A large body is held in memory whole, so there are few of them at a time.
  bool take_room(std::optional<std::uint64_t> length) {
    bool may_be_large = accepted_->route->body_bytes_max > Rest::body_bytes_max &&
                        (length ? *length > Rest::body_bytes_max : parser_->chunked());
    if (!may_be_large) return true;
    if (++engine_.large_bodies > HttpServer::large_bodies_max) {
      --engine_.large_bodies;
      return false;
    }
    has_room_ = true;
    return true;
  }

  void give_room() {
    if (std::exchange(has_room_, false)) --engine_.large_bodies;
  }

  void write_continue() {
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    read_within(engine_.options.read_within_ms);
    asio::async_write(stream_, asio::buffer(go_on.data(), go_on.size()),
                      [self = shared_from_this()](Error error, std::size_t) {
                        if (error) return self->finish();
                        self->read_body();
                      });
  }

  void read_body() {
    if (parser_->is_done()) return on_body({});
    buffer_.reserve(piece_bytes);  // Beast reads no more at a time than the buffer holds already
    read_within(engine_.options.read_within_ms);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](Error error, std::size_t) { self->on_body(error); });
  }

  void on_body(Error error) {
    if (error == http::error::body_limit) {
      return refuse_rest(Rest::refusal(
          refuse(ErrorCode::too_large,
                 {"body", "", std::to_string(accepted_->route->body_bytes_max) + " bytes",
                  "Make it smaller."})));
    }
    if (is_about_http(error)) return refuse_rest(malformed(400, "HTTP/1.1"));
    if (error) return finish();
    stream_.expires_never();
    keep_ = parser_->get().keep_alive();
    engine_.rest.serve(std::move(*accepted_), std::move(parser_->get().body()),
                       [weak = weak_from_this(), engine = engine_.weak_from_this()](auto answer) {
                         auto alive = engine.lock();
                         auto self = weak.lock();
                         if (!alive || !self) return;
                         asio::post(self->stream_.get_executor(),
                                    [self, answer = std::move(answer)] { self->write(answer()); });
                       });
  }

  void refuse_rest(const HttpAnswer& answer) {
    // Where the whole request has been read, the connection may go on.
    keep_ = parser_->is_done() && parser_->get().keep_alive();
    drain_ = !keep_;
    write(answer);
  }

  void write(const HttpAnswer& answer) {
    give_room();
    keep_ = keep_ && !engine_.closing;
    outgoing_ = print(answer, keep_, parser_->get().method() != http::verb::head);
    stream_.expires_after(std::chrono::milliseconds(HttpServer::write_within_ms));
    asio::async_write(stream_, asio::buffer(outgoing_),
                      [self = shared_from_this()](Error error, std::size_t) {
                        self->outgoing_.clear();
                        if (error) return self->finish();
                        if (self->keep_) return self->read_header();
                        self->drain_ ? self->begin_drain() : self->finish();
                      });
  }

  void begin_drain() {
    Error ignored;  // it may be gone already
    stream_.socket().shutdown(Protocol::socket::shutdown_send, ignored);
    stream_.expires_after(drain_within);
    drain(0);
  }

  void drain(std::size_t drained) {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(piece_bytes),
                            [self = shared_from_this(), drained](Error error, std::size_t got) {
                              if (error || drained + got > drained_max) return self->finish();
                              self->drain(drained + got);
                            });
  }

  void read_within(std::uint32_t milliseconds) {
    stream_.expires_after(std::chrono::milliseconds(milliseconds));
  }

  void finish() {
    give_room();
    stream_.close();
    std::lock_guard lock(engine_.mutex);
    engine_.connections.erase(shared_from_this());
    engine_.changed.notify_all();
  }

  Engine& engine_;
  Stream stream_;
  const Peer peer_;
  beast::flat_buffer buffer_{HttpServer::header_bytes_max + piece_bytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<Rest::Accepted> accepted_;
  std::string outgoing_;
  bool busy_{};      // with a request whose header has been read
  bool keep_{};      // the connection after this answer
  bool drain_{};     // a body is under way that nobody wants
  bool has_room_{};  // for a large body
};

}  // namespace

HttpServer::HttpServer(Rest& rest, const Options& options)
    : engine_(std::make_shared<Engine>(rest, options)) {
  for (int i = 0; i < options.threads; ++i) {
    engine_->threads.emplace_back([engine = engine_.get()] { engine->io.run(); });
  }
}

HttpServer::~HttpServer() {
  {
    std::unique_lock lock(engine_->mutex);
    engine_->closing = true;
    for (const auto& connection : engine_->connections) connection->leave();
    engine_->changed.wait_for(lock, std::chrono::seconds(1),
                              [this] { return engine_->connections.empty(); });
  }
  engine_->io.stop();
  for (std::thread& thread : engine_->threads) thread.join();
  std::set<std::shared_ptr<Connection>> cut;
  std::lock_guard lock(engine_->mutex);
  cut.swap(engine_->connections);
}

void HttpServer::adopt(int descriptor, const Peer& peer) {
  std::lock_guard lock(engine_->mutex);
  if (engine_->closing || engine_->connections.size() >= connections_max) {
    std::string no =
        print(Rest::refusal(
                  refuse(ErrorCode::busy, {"", "", std::to_string(connections_max) + " connections",
                                           "Too many are connected. Try again in a moment."})),
              false);
    (void)!send(descriptor, no.data(), no.size(), MSG_NOSIGNAL | MSG_DONTWAIT);  // if it fits
    ::close(descriptor);
    return;
  }
  int family = peer.kind == Peer::Kind::unix_socket ? AF_UNIX : AF_INET;
  Protocol::socket socket(asio::make_strand(engine_->io));
  Error error;
  socket.assign(Protocol(family, 0), descriptor, error);
  if (error) {
    ::close(descriptor);
    return;
  }
  auto connection = std::make_shared<Connection>(*engine_, Stream(std::move(socket)), peer);
  engine_->connections.insert(connection);
  connection->start();
}

}  // namespace keel
