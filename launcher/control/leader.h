// Agent 0 before the workers run: asks all followers something and waits for their answers, or works itself
// while it keeps them. What ends the job here, a stop signal, an agent that cannot go on or is lost, is an
// Error; tell all of it with ControlHub::refuse_all(). One thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "launcher/control/hub.h"
#include "launcher/control/meeting.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {

class Leader {
 public:
  // References must outlive the object.
  Leader(ControlHub& hub, StopSignals& signals, NoticeSink notice);

  // One answer of each follower, by agent. `what` it is that they do, for people: "to prepare the data". What
  // they still say of workers that are gone is passed over.
  template <typename Answer>
  std::map<int, Answer> ask_for(const Message& question, const std::string& what) {
    std::map<int, Answer> answers;
    for (auto& [agent, message] : ask(question, what, is_one<Answer>)) {
      answers[agent] = std::move(std::get<Answer>(message));
    }
    return answers;
  }

  // Does `work` in a thread of its own and keeps the followers meanwhile; `stop` becomes true when the work
  // is for nothing any more. Throws what `work` throws, and what ended the job.
  void run_in_background(const std::function<void(const std::atomic<bool>& stop)>& work);

 private:
  using IsAnswer = bool (*)(const Message&);
  template <typename Answer>
  static bool is_one(const Message& message) {
    return std::holds_alternative<Answer>(message);
  }

  std::map<int, Message> ask(const Message& question, const std::string& what, IsAnswer is_answer);
  void check_all_are_here() const;
  // Waits once, takes answers, and throws what ends the job.
  void wait(std::map<int, Message>& answers, IsAnswer is_answer, int also, double until);

  ControlHub& hub_;
  StopSignals& signals_;
  NoticeSink notice_;
};

}  // namespace hftrain::launcher
