// Jobs, nodes and batches to store. Every field has a value of its own, so that one which gets lost
// on the way is missed.
#pragma once

#include <string>
#include <vector>

#include "ports/store.h"

namespace keel {

JobSpec sample_spec(const std::string& name);
Node sample_node(const std::string& name);

// A job as it is just after submission, with sample_spec("train").
Job sample_job(std::uint64_t id, const std::string& user = "ada", const std::string& key = "");

// Batches of one event at a time. Their numbers and `last_token` are for fit() to fill in, but that
// a reservation's last_token is its own.
Batch submission_of(const Job& job);
Batch submission_of(const Job& job, const JobSpec& spec);
// The job goes into `state`, without devices.
Batch change_of(const Job& job, JobState state);
// All of `devices` go to a job of one task, on one node.
Batch reservation_of(const Job& job, FencingToken token, const std::vector<std::string>& devices);
// The task of `job` is settled and its devices are freed; the job ends.
Batch settlement_of(const Job& job);
Batch report_of(const Node& node);

// The job as it is after one of the batches above.
const Job& job_after(const Batch& batch);

// The batch as the next one of a log that ends at `after`: its events numbered, each at as many
// seconds as its number says, and its last_token at least `last_token`.
Batch fit(Batch batch, Seq after, FencingToken last_token);

// The parts of both, one behind the other. The last_token is that of `second`.
Batch joined(Batch first, const Batch& second);

}  // namespace keel
