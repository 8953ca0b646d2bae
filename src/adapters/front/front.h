// The users' service: what gRPC and REST do with a request once they know who asks.
//
// Every call answers exactly once, on any thread, possibly before it returns. None blocks longer
// than a read of the store (submit and put_file: of the file store). Long polls hold no thread. The
// parts, and whoever is being answered, must live until the inbox and the feed are closed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "adapters/front/agent_logs.h"
#include "adapters/front/caller.h"
#include "adapters/front/error.h"
#include "adapters/front/files.h"
#include "adapters/front/people.h"
#include "adapters/inbox/inbox.h"
#include "base/result.h"
#include "keel/v1/api.pb.h"
#include "model/spec.h"
#include "ports/records.h"

namespace keel {

template <class Response>
using Reply = std::function<void(Result<Response, pb::ApiError>)>;

class Front {
 public:
  static constexpr std::int32_t jobs_limit_max = 1000, jobs_limit_default = 100;
  static constexpr std::int32_t events_limit_max = 1000;
  static constexpr std::int32_t log_bytes_max = 1 << 20, log_bytes_default = 256 << 10;
  static constexpr std::int32_t wait_ms_max = 30'000;
  // A page of jobs or events ends early rather than grow beyond this (by one item).
  static constexpr std::size_t page_bytes = 2 << 20;

  struct Parts {
    Inbox& inbox;
    Feed& feed;
    Timer& timer;
    Records& records;
    Files& files;
    AgentLogs& logs;
    std::function<JobSpec(const SaidSpec&)> complete;  // fills in the policy's defaults
    std::optional<Owner> token_owner;  // whose jobs are submitted with the token; none: nobody's
  };
  explicit Front(Parts parts) : parts_(std::move(parts)) {}

  void submit(const Caller& caller, const pb::SubmitRequest& request,
              Reply<pb::SubmitResponse> reply);
  void put_file(const Caller& caller, const pb::PutFileRequest& request,
                Reply<pb::PutFileResponse> reply);
  void get_job(const Caller& caller, const pb::GetJobRequest& request, Reply<pb::JobView> reply);
  void list_jobs(const Caller& caller, const pb::ListJobsRequest& request,
                 Reply<pb::ListJobsResponse> reply);
  void cancel_job(const Caller& caller, const pb::CancelJobRequest& request,
                  Reply<pb::CancelJobResponse> reply);
  void list_events(const Caller& caller, const pb::ListEventsRequest& request,
                   Reply<pb::ListEventsResponse> reply);
  void read_log(const Caller& caller, const pb::ReadLogRequest& request,
                Reply<pb::ReadLogResponse> reply);
  void list_nodes(const Caller& caller, const pb::ListNodesRequest& request,
                  Reply<pb::ListNodesResponse> reply);

 private:
  struct EventPoll;
  struct LogPoll;

  Result<Owner, pb::ApiError> owner_of(const Caller& caller);
  Result<JobRecord, pb::ApiError> find(const Caller& caller, const std::string& job);
  Result<JobRecord, pb::ApiError> read(JobId id);
  std::optional<pb::ApiError> missing_file(const pb::JobSpec& spec, const SaidSpec& said);

  pb::JobView view(const Caller& caller, const JobRecord& record);
  std::vector<std::string> gpu_models(const Job& job);
  void add_reasons(std::vector<pb::JobView> views,
                   std::function<void(std::vector<pb::JobView>)> then);

  void follow_events(std::shared_ptr<EventPoll> poll);
  void follow_log(std::shared_ptr<LogPoll> poll);
  void ask_agent(std::shared_ptr<LogPoll> poll, const Job& job, AttemptNo attempt,
                 const NodeId& node);
  void wait_for_log(std::shared_ptr<LogPoll> poll, const Job& job, Duration at_most);
  Result<std::optional<NodeId>, pb::ApiError> node_of(const Job& job, AttemptNo attempt,
                                                      std::uint32_t task);

  Parts parts_;
  People people_;
  // What jobs ask for as a model, of every device ever shown: a uuid never changes its model.
  std::mutex models_mutex_;
  std::map<DeviceId, std::string> models_;
};

}  // namespace keel
