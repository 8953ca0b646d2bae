// Every connected agent: which connection is whose, what it says to the control plane and hears
// from it. Knows nothing of gRPC; a stream is an AgentLine here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "adapters/front/agent_logs.h"
#include "adapters/inbox/inbox.h"
#include "adapters/inbox/timer.h"
#include "base/result.h"
#include "keel/v1/agents.pb.h"
#include "ports/inputs.h"

namespace keel {

namespace pb = ::keel::v1;

// One agent's open stream. All calls: any thread; none blocks.
class AgentLine {
 public:
  virtual ~AgentLine() = default;

  // In order. A line that is closed drops it; one whose agent reads too slowly closes.
  virtual void send(pb::ServerMessage message) = 0;

  // Ends the stream; `why` is for the agent's log. Later calls change nothing.
  virtual void close(const std::string& why) = 0;
};

// All calls: any thread. Lines are called without a lock held.
class AgentSessions final : public Agents, public AgentLogs {
 public:
  static constexpr std::size_t questions_max = 1024;     // about logs, at once
  static constexpr Duration answer_within = seconds(5);  // beyond what the agent may wait itself

  AgentSessions(Inbox& inbox, Timer& timer) : inbox_(inbox), timer_(timer) {}

  // What an agent says, in the order of its stream. False, or an error that says why: this session
  // is not, or no longer, the node's, so close the stream.
  //
  // A node has one session. A new connection of the same agent ends the one before, which may be
  // dead without anybody having noticed. Another agent is turned away while the first is there.
  Result<SessionNo, std::string> connect(NodeInventory inventory, std::shared_ptr<AgentLine> line,
                                         FencingToken newest_token);
  bool report(SessionNo session, Report report);
  bool log_answer(SessionNo session, const pb::LogAnswer& answer);
  void gone(SessionNo session);  // idempotent

  void welcome(const NodeId& node, SessionNo session, const Welcome& welcome) override;
  void refuse(SessionNo session, const std::string& why) override;
  void acknowledge(const NodeId& node, SessionNo session, ReportNo report) override;
  void send(SessionNo session, Epoch epoch, ReportNo answers, const Duty& duty,
            const JobSpec* spec) override;

  void read_log(const NodeId& node, const LogQuestion& question, Answered answered) override;

  // Ends every session, and every later one at once.
  void close();

 private:
  struct Session {
    NodeId node;
    std::string agent_id;
    std::shared_ptr<AgentLine> line;
    ReportNo last_report;
  };
  struct Question {
    SessionNo session;
    Answered answered;
    Timer::Id deadline{};
  };
  using Ending = std::vector<Answered>;

  std::shared_ptr<AgentLine> line_of(SessionNo session);
  std::shared_ptr<AgentLine> end(SessionNo session, Ending& unanswered);
  void pass_deadline(std::uint64_t request);

  Inbox& inbox_;
  Timer& timer_;
  std::mutex mutex_;
  std::map<SessionNo, Session> sessions_;
  std::map<NodeId, SessionNo> by_node_;
  std::map<std::uint64_t, Question> questions_;
  SessionNo last_session_;
  std::uint64_t last_request_{};
  bool closed_{};
};

}  // namespace keel
