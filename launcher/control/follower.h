// An agent that follows: it starts its workers when agent 0 says so, passes on what they say and how they
// end, and does what it is told. It decides nothing, but that its workers end with it when agent 0 is gone.
// One thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/control/link.h"
#include "launcher/process/output_router.h"
#include "launcher/supervision/stop_signals.h"
#include "launcher/supervision/stop_wishes.h"
#include "launcher/supervision/worker_group.h"

namespace hftrain::launcher {

// The job is over for this agent, whatever it does: the leader said so or is gone, or a user insisted.
class JobEnded : public Error {
 public:
  explicit JobEnded(const Error& error) : Error(error) {}
};

class Follower {
 public:
  // References must outlive the object. `leader`: "node 0 (host-a)", for errors.
  Follower(ControlLink& link, std::string leader, StopSignals& signals);

  // Waits for the next message. Throws JobEnded when the leader ends the job before its verdict (with its
  // code), when it is lost (kWorkerLost), and at a second stop signal (kTerminatedUnsaved), behind workers when no
  // verdict has come for some seconds; the first one is passed on.
  Message next();
  // Does `work` in a thread of its own and keeps the connection alive meanwhile; `stop` becomes true when
  // the work is for nothing any more. Throws what `work` throws, and JobEnded when the leader is lost; its word that the
  // job has ended is next()'s to throw.
  void run_in_background(const std::function<void(const std::atomic<bool>& stop)>& work);
  void say(const Message& message) { link_.send(message); }

  // Starts the workers and obeys until all are gone and the leader knows. Throws as next() does, once they
  // are gone.
  void run(std::vector<WorkerSpec> workers, OutputSpec output);

  // How the leader judged the job, once it has.
  const std::optional<JobVerdict>& verdict() const noexcept { return verdict_; }
  // Closes the connection, so that the leader need not wait.
  void leave() { link_.close("left"); }

 private:
  class Shift;

  void wait(std::vector<pollfd>& watched, double until);
  void hear();
  void pass_signals();
  JobEnded lost() const;

  ControlLink& link_;
  std::string leader_;
  StopSignals& signals_;
  StopWishes wishes_;
  bool ran_ = false;               // workers, whose end the leader judges
  double patient_until_ = kNever;  // somebody has insisted that this agent ends
  std::deque<Message> waiting_;
  std::optional<JobVerdict> verdict_;
};

}  // namespace hftrain::launcher
