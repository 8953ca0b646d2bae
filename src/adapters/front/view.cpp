// What is only read, once: jobs and nodes as the API shows them.
#include <algorithm>

#include "adapters/front/bounds.h"
#include "adapters/front/front.h"
#include "wire/convert.h"
#include "wire/task_key.h"

namespace keel {
namespace {

pb::ApiError no_such_job(const std::string& said) {
  return refuse(ErrorCode::not_found,
                {"job", said, "an id of 13 characters, or \"last\"", "There is no such job."});
}

bool waits(const pb::JobView& view) {
  return view.job().state() == pb::ACCEPTED || view.job().state() == pb::QUEUED;
}

Result<JobFilter, pb::ApiError> filter_of(const pb::ListJobsRequest& request) {
  if (auto bad = out_of({"limit", 0, Front::jobs_limit_max}, request.limit())) return *bad;
  JobFilter filter;
  for (int state : request.states()) {
    auto known = from_pb(static_cast<pb::JobState>(state));
    if (!known) {
      return refuse(ErrorCode::invalid,
                    {"states", std::to_string(state), "a job state", "There is no such state."});
    }
    filter.states.push_back(*known);
  }
  filter.user = request.user();
  if (!request.before().empty()) {
    filter.before = parse_job_id(request.before());
    if (!filter.before) {
      return refuse(ErrorCode::invalid, {"before", request.before(), "an id of 13 characters",
                                         "Pass the `next` of the page before."});
    }
  }
  filter.limit =
      static_cast<std::size_t>(request.limit() ? request.limit() : Front::jobs_limit_default);
  return filter;
}

}  // namespace

Result<JobRecord, pb::ApiError> Front::read(JobId id) {
  auto record = parts_.records.job(id);
  if (!record) return store_unreadable();
  if (!*record) return no_such_job(print(id));
  return std::move(**record);
}

Result<JobRecord, pb::ApiError> Front::find(const Caller& caller, const std::string& job) {
  if (job != "last") {
    auto id = parse_job_id(job);
    if (!id) return no_such_job(job);
    return read(*id);
  }
  TRY(owner, owner_of(caller));
  JobFilter newest;
  newest.user = owner.user;
  newest.limit = 1;
  auto records = parts_.records.jobs(newest);
  if (!records) return store_unreadable();
  if (records->empty()) {
    return refuse(ErrorCode::not_found, {"job", job, "", owner.user + " has no job yet."});
  }
  return std::move(records->front());
}

pb::JobView Front::view(const Caller& caller, const JobRecord& record) {
  pb::JobView view;
  *view.mutable_job() = to_pb(record.job);
  *view.mutable_spec() = to_pb(record.spec);
  // What others pass to their programs may hold secrets.
  if (!may_act(caller, record.job.owner)) {
    view.mutable_spec()->clear_args();
    view.mutable_spec()->clear_env();
  }
  if (record.job.reason != Reason::none) {
    view.set_reason_text(std::string(describe(record.job.reason)));
  }
  for (std::string& model : gpu_models(record.job)) view.add_gpu_models(std::move(model));
  return view;
}

std::vector<std::string> Front::gpu_models(const Job& job) {
  std::lock_guard lock(models_mutex_);
  bool all_known = std::all_of(job.tasks.begin(), job.tasks.end(), [&](const Task& task) {
    return task.devices.empty() || models_.contains(task.devices.front());
  });
  if (!all_known) {
    if (auto nodes = parts_.records.nodes()) {
      for (const Node& node : *nodes) {
        for (const Device& device : node.inventory.devices) {
          models_[device.id] = (device.emulated ? "emulated:" : "") + device.model;
        }
      }
    }
  }
  std::vector<std::string> words;
  for (const Task& task : job.tasks) {  // one model for a whole gang, so one device tells
    auto known = task.devices.empty() ? models_.end() : models_.find(task.devices.front());
    words.push_back(known == models_.end() ? "" : known->second);
  }
  return words;
}

// A job that waits is shown with what it waits for now, not with why it was put back last. Where
// the control plane cannot say just now, the job is shown without.
void Front::add_reasons(std::vector<pb::JobView> views,
                        std::function<void(std::vector<pb::JobView>)> then) {
  std::vector<JobId> waiting;
  for (const pb::JobView& view : views) {
    if (!waits(view)) continue;
    if (auto id = parse_job_id(view.job().id())) waiting.push_back(*id);
  }
  if (waiting.empty()) return then(std::move(views));
  std::sort(waiting.begin(), waiting.end());
  auto shared = std::make_shared<std::vector<pb::JobView>>(std::move(views));
  auto answered = [this, shared, then](AnswerKind answer) {
    // Hundreds of views are not for the answering thread, which has turns to take.
    parts_.timer.after(Duration{}, [shared, then, answer = std::move(answer)] {
      std::map<std::string, Reason> reasons;
      if (auto* answers = std::get_if<ReasonsAnswer>(&answer)) {
        for (auto [job, reason] : answers->reasons) reasons[print(job)] = reason;
      }
      for (pb::JobView& view : *shared) {
        auto reason = reasons.find(view.job().id());
        if (reason == reasons.end()) continue;
        view.mutable_job()->set_reason(std::string(print(reason->second)));
        view.set_reason_text(std::string(describe(reason->second)));
      }
      then(std::move(*shared));
    });
  };
  auto asked = parts_.inbox.ask(
      [&](Ticket ticket) {
        return ReasonsInput{ticket, std::move(waiting)};
      },
      answered);
  if (!asked) then(std::move(*shared));
}

void Front::get_job(const Caller& caller, const pb::GetJobRequest& request,
                    Reply<pb::JobView> reply) {
  auto record = find(caller, request.job());
  if (!record) return reply(record.error());
  add_reasons({view(caller, *record)},
              [reply](std::vector<pb::JobView> views) { reply(std::move(views.front())); });
}

void Front::list_jobs(const Caller& caller, const pb::ListJobsRequest& request,
                      Reply<pb::ListJobsResponse> reply) {
  auto filter = filter_of(request);
  if (!filter) return reply(filter.error());
  std::size_t limit = filter->limit++;  // one more tells whether there is a next page
  auto records = parts_.records.jobs(*filter);
  if (!records) return reply(store_unreadable());

  std::vector<pb::JobView> views;
  std::size_t bytes = 0;
  for (const JobRecord& record : *records) {
    if (views.size() == limit || bytes >= page_bytes) break;
    views.push_back(view(caller, record));
    bytes += views.back().ByteSizeLong();
  }
  std::string next = views.size() < records->size() ? views.back().job().id() : "";
  add_reasons(std::move(views), [reply, next](std::vector<pb::JobView> with_reasons) {
    pb::ListJobsResponse response;
    for (pb::JobView& view : with_reasons) *response.add_jobs() = std::move(view);
    response.set_next(next);
    reply(std::move(response));
  });
}

void Front::list_nodes(const Caller& caller, const pb::ListNodesRequest& request,
                       Reply<pb::ListNodesResponse> reply) {
  (void)caller;   // the fleet is no secret to those who share it
  (void)request;  // has no field yet
  auto nodes = parts_.records.nodes();
  if (!nodes) return reply(store_unreadable());
  auto holdings = parts_.records.holdings();
  if (!holdings) return reply(store_unreadable());
  std::map<DeviceId, const Holding*> held;
  for (const Holding& holding : *holdings) held[holding.device] = &holding;

  pb::ListNodesResponse response;
  for (const Node& node : *nodes) {
    pb::NodeView& view = *response.add_nodes();
    *view.mutable_node() = to_pb(node);
    for (const Device& device : node.inventory.devices) {
      auto holding = held.find(device.id);
      if (holding == held.end()) continue;
      pb::Holding& shown = *view.add_held();
      shown.set_device(device.id.uuid);
      set_task_key(shown, holding->second->key);
      shown.set_token(holding->second->token.value);
    }
  }
  reply(std::move(response));
}

}  // namespace keel
