// The users' API over gRPC, one blocking call for each of its methods. No exceptions and no types
// of gRPC come out of here.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "keel/v1/api.pb.h"
#include "model/units.h"

namespace keel {

struct ClientError {
  enum class Code : std::uint8_t {
    refused,      // the control plane's own answer: `error` is what it said
    unreachable,  // nobody listens there: nothing was sent
    cut,          // the connection broke, or it took too long: what was asked may have happened
  };
  Code code{};
  v1::ApiError error{};  // of every code: its `help` is for people
};

// One connection, made at the first call and again whenever it broke. One caller at a time.
class UsersClient {
 public:
  struct Target {
    std::string address{};  // "unix:PATH", or "HOST:PORT" on this host's loopback
    std::string token{};    // the operator's; empty at the local door
    Duration connect_within = seconds(10);
    Duration answer_within = seconds(30);  // beyond what a request itself asks to wait
  };
  explicit UsersClient(Target target);
  ~UsersClient();

  template <class T>
  using Answer = Result<T, ClientError>;

  Answer<v1::SubmitResponse> submit(const v1::SubmitRequest& request);
  Answer<v1::PutFileResponse> put_file(const v1::PutFileRequest& request);
  Answer<v1::JobView> get_job(const v1::GetJobRequest& request);
  Answer<v1::ListJobsResponse> list_jobs(const v1::ListJobsRequest& request);
  Answer<v1::CancelJobResponse> cancel_job(const v1::CancelJobRequest& request);
  Answer<v1::ListEventsResponse> list_events(const v1::ListEventsRequest& request);
  Answer<v1::ReadLogResponse> read_log(const v1::ReadLogRequest& request);
  Answer<v1::ListNodesResponse> list_nodes(const v1::ListNodesRequest& request);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace keel
