// The one queue through which the control plane hears, and the callers who wait for its answers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "adapters/inbox/feed.h"
#include "base/result.h"
#include "ports/clock.h"
#include "ports/inputs.h"

namespace keel {

// Why a question was not put. Nothing was stored in either case.
enum class AskError : std::uint8_t {
  busy,    // too many wait already: try again later
  closed,  // the control plane is stopping
};

// Bounded by kind: clients are refused when requests_max of them wait; agents always get in, but of
// one session's reports at most two are queued: the latest full one, which says all that those
// before it said, and the latest heartbeat after it. All calls: any thread.
class Inbox final : public Inputs, public Callers {
 public:
  static constexpr std::size_t requests_max = 4096;

  // `clock` is the turn's; it decides nothing but how long take() waits.
  Inbox(Clock& clock, Feed& feed) : clock_(clock), feed_(feed) {}

  // Queues what an agent said, in order. False once closed. Never blocks.
  bool post(Input input);

  // Queues what `make` gives for a new ticket. The answer goes to `answered`, once, on the
  // answering thread, which must not be held up. An error means that `answered` is never called.
  Result<Ticket, AskError> ask(const std::function<Input(Ticket)>& make,
                               std::function<void(AnswerKind)> answered);

  // Gives nothing early when woken or closed.
  std::vector<Input> take(std::size_t max, Instant until) override;

  void answer(Answer answer) override;
  void committed(Seq seq, const std::vector<JobId>& changed) override;

  // While no turn can be stored: answers NotStored to whoever has waited for `patience`. What they
  // asked for is still decided later.
  void give_up(Duration patience, const std::string& why);

  // Lets a waiting take() come back at once, or the next one if none waits.
  void wake();

  // From now on nothing gets in; everyone who waits is answered NotStored.
  void close();

 private:
  struct Queued {
    Input input;
    bool request{};
  };
  using Queue = std::list<Queued>;
  struct Waiting {
    std::function<void(AnswerKind)> answered;
    Instant since{};
  };

  // What is queued of one session's reports; queue_.end() where there is none.
  struct Reports {
    Queue::iterator full;
    Queue::iterator heartbeat;  // newer than `full`
  };

  void queue_report(AgentReported report);
  void forget_report(Queue::iterator taken);

  Clock& clock_;
  Feed& feed_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  Queue queue_;
  std::size_t requests_{};  // of the queue: those of clients
  std::map<SessionNo, Reports> reports_;
  std::map<Ticket, Waiting> waiting_;  // the longest waiting first
  Ticket last_ticket_;
  bool woken_{};
  bool closed_{};
};

}  // namespace keel
