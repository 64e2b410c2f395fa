// How the agents of a job find each other: agent 0 gathers the others, every other agent joins it. Both say
// on time what they wait for, and both give up with a reason.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/control/hub.h"
#include "launcher/control/link.h"
#include "launcher/control/reach.h"
#include "launcher/environments/address_exchange.h"
#include "launcher/environments/membership.h"
#include "launcher/supervision/stop_signals.h"

namespace hftrain::launcher {

struct MeetingSpec {
  Membership membership;
  AddressExchange* exchange = nullptr;  // null: the address is in `membership`
  std::string version, build;
  std::string secret;            // of the job (job_secret.h); empty: the user gave none
  Introduction introduction;     // of this agent; where it is and where it answers are filled in here
  std::optional<Error> failure;  // why this agent cannot take part: it comes to say so, for kTellSeconds
  std::function<void(const Error&)> before_refusal =
      {};  // of agent 0: hears why the job ends before the others do
  double collective_timeout_seconds = 1800;
  double notice_seconds = 10;
};
constexpr double kTellSeconds = 5;
using NoticeSink = std::function<void(const std::string&)>;  // one that begins as kWarningNotice warns

struct Gathering {
  std::unique_ptr<ControlHub> hub;
  std::vector<Introduction> agents;         // by number, agent 0's own among them
  std::unique_ptr<AnswerPort> answer_port;  // of agent 0, for the others to try; null where it failed
};

// Agent 0. Throws an Error when the job cannot begin: an agent that does not come (kEnvironment), goes again
// (kWorkerLost) or was started in another way (kUsage, kEnvironment), or a stop signal (kTerminatedUnsaved).
// All that have come are then told the same.
Gathering gather_agents(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice);

struct Joined {
  ControlLink link;
  std::string leader;                       // "node 0 (host-a)"
  std::unique_ptr<AnswerPort> answer_port;  // at this end of the connection; null where it failed
};

// Every other agent. Tries again for a while where nobody answers yet; the Error (kEnvironment) lists what
// was tried and how it ended. A refusal is an Error with the code that it names; of somebody who does not show that he knows
// the job's secret kEnvironment, and kUsage where agent 0 has none.
Joined join_leader(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice);

// What an Error(kTerminatedUnsaved) says of a stop signal before training.
Error stopped_early(int signal, const std::string& during);

}  // namespace hftrain::launcher
