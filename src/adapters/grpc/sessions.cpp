#include "adapters/grpc/sessions.h"

#include <utility>
#include <vector>

#include "wire/convert.h"
#include "wire/task_key.h"

namespace keel {

Result<SessionNo, std::string> AgentSessions::connect(NodeInventory inventory,
                                                      std::shared_ptr<AgentLine> line,
                                                      FencingToken newest_token) {
  std::shared_ptr<AgentLine> replaced;
  Ending unanswered;
  SessionNo session;
  {
    // Numbers are given and queued under one lock, so that they reach the turn in order.
    std::lock_guard lock(mutex_);
    if (closed_) return std::string("the control plane is stopping");
    NodeId node = inventory.id;
    if (auto before = by_node_.find(node); before != by_node_.end()) {
      if (sessions_.at(before->second).agent_id != inventory.agent_id) {
        return "another agent is connected as node " + node.name;
      }
      replaced = end(before->second, unanswered);
    }
    session = last_session_ = SessionNo{last_session_.value + 1};
    sessions_.emplace(session, Session{node, inventory.agent_id, std::move(line), {}});
    by_node_[node] = session;
    inbox_.post(AgentConnected{node, session, std::move(inventory), newest_token});
  }
  if (replaced) replaced->close("replaced by a newer connection of this node");
  for (Answered& answered : unanswered) answered(LogFailure::not_connected);
  return session;
}

bool AgentSessions::report(SessionNo session, Report report) {
  std::lock_guard lock(mutex_);
  auto found = sessions_.find(session);
  if (found == sessions_.end()) return false;
  const NodeId& node = found->second.node;
  bool of_this_node = !report.inventory || report.inventory->id == node;
  if (!of_this_node || report.number <= found->second.last_report) return false;
  found->second.last_report = report.number;
  return inbox_.post(AgentReported{node, session, std::move(report)});
}

bool AgentSessions::log_answer(SessionNo session, const pb::LogAnswer& answer) {
  Answered answered;
  {
    std::lock_guard lock(mutex_);
    if (!sessions_.contains(session)) return false;
    auto question = questions_.find(answer.request());
    // Too late, or no question to this agent: nobody waits for it.
    if (question == questions_.end() || question->second.session != session) return true;
    answered = std::move(question->second.answered);
    timer_.cancel(question->second.deadline);
    questions_.erase(question);
  }
  answered(answer.found() ? std::optional(answer.log()) : std::nullopt);
  return true;
}

void AgentSessions::gone(SessionNo session) {
  Ending unanswered;
  {
    std::lock_guard lock(mutex_);
    end(session, unanswered);
  }
  for (Answered& answered : unanswered) answered(LogFailure::not_connected);
}

// Takes a session out, giving its line and those who wait for its answers.
std::shared_ptr<AgentLine> AgentSessions::end(SessionNo session, Ending& unanswered) {
  auto found = sessions_.find(session);
  if (found == sessions_.end()) return nullptr;
  std::shared_ptr<AgentLine> line = std::move(found->second.line);
  inbox_.post(AgentGone{found->second.node, session});
  by_node_.erase(found->second.node);
  sessions_.erase(found);
  std::erase_if(questions_, [&](auto& entry) {
    if (entry.second.session != session) return false;
    timer_.cancel(entry.second.deadline);
    unanswered.push_back(std::move(entry.second.answered));
    return true;
  });
  return line;
}

std::shared_ptr<AgentLine> AgentSessions::line_of(SessionNo session) {
  std::lock_guard lock(mutex_);
  auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second.line;
}

void AgentSessions::welcome(const NodeId&, SessionNo session, const Welcome& welcome) {
  auto line = line_of(session);
  if (!line) return;
  pb::ServerMessage message;
  pb::Welcome& sent = *message.mutable_welcome();
  sent.set_epoch(welcome.epoch.value);
  for (const Floor& floor : welcome.floors) {
    pb::TokenFloor& added = *sent.add_floors();
    added.set_device(floor.device.uuid);
    added.set_token(floor.token.value);
  }
  sent.set_disconnect_stop_us(welcome.disconnect_stop.us);
  sent.set_heartbeat_us(welcome.heartbeat.us);
  line->send(std::move(message));
}

void AgentSessions::refuse(SessionNo session, const std::string& why) {
  Ending unanswered;
  std::shared_ptr<AgentLine> line;
  {
    std::lock_guard lock(mutex_);
    line = end(session, unanswered);
  }
  if (line) line->close(why);
  for (Answered& answered : unanswered) answered(LogFailure::not_connected);
}

void AgentSessions::acknowledge(const NodeId&, SessionNo session, ReportNo report) {
  auto line = line_of(session);
  if (!line) return;
  pb::ServerMessage message;
  message.mutable_ack()->set_report(report.value);
  line->send(std::move(message));
}

void AgentSessions::send(SessionNo session, Epoch epoch, ReportNo answers, const Duty& duty,
                         const JobSpec* spec) {
  if (auto line = line_of(session)) line->send(to_pb(duty, epoch, answers, spec));
}

void AgentSessions::read_log(const NodeId& node, const LogQuestion& question, Answered answered) {
  std::optional<LogFailure> failure;
  std::shared_ptr<AgentLine> line;
  pb::ServerMessage message;
  {
    std::lock_guard lock(mutex_);
    auto session = by_node_.find(node);
    if (session == by_node_.end()) {
      failure = LogFailure::not_connected;
    } else if (questions_.size() >= questions_max) {
      failure = LogFailure::busy;
    } else {
      std::uint64_t request = ++last_request_;
      line = sessions_.at(session->second).line;
      Timer::Id deadline =
          timer_.after(question.wait + answer_within, [this, request] { pass_deadline(request); });
      questions_.emplace(request, Question{session->second, std::move(answered), deadline});
      pb::ReadTaskLog& sent = *message.mutable_read_log();
      sent.set_request(request);
      set_task_key(sent, question.key);
      sent.set_offset(question.offset);
      sent.set_limit(question.limit);
      sent.set_wait_ms(static_cast<std::int32_t>(question.wait.us / 1000));
    }
  }
  if (failure) return answered(*failure);
  line->send(std::move(message));
}

void AgentSessions::pass_deadline(std::uint64_t request) {
  Answered answered;
  {
    std::lock_guard lock(mutex_);
    auto question = questions_.find(request);
    if (question == questions_.end()) return;
    answered = std::move(question->second.answered);
    questions_.erase(question);
  }
  answered(LogFailure::timed_out);
}

void AgentSessions::close() {
  std::vector<std::shared_ptr<AgentLine>> lines;
  Ending unanswered;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    while (!sessions_.empty()) lines.push_back(end(sessions_.begin()->first, unanswered));
  }
  for (auto& line : lines) line->close("the control plane is stopping");
  for (Answered& answered : unanswered) answered(LogFailure::not_connected);
}

}  // namespace keel
