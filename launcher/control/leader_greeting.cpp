#include "launcher/control/leader_greeting.h"

#include <poll.h>

#include <algorithm>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/greeting.h"
#include "launcher/control/link.h"
#include "launcher/control/meeting.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {
namespace {

constexpr double kWelcomeSeconds = 5;

// Node 0 of many answers one after the other.
double welcome_seconds(int agents) {
  return std::max(kWelcomeSeconds, silence_seconds(agents));
}

// The next line, unless none comes in time: `why` then says what did.
std::optional<std::string> hear(LineSocket& socket, double until, StopSignals& signals, std::string& why) {
  while (true) {
    socket.work();
    if (const auto line = socket.next_line()) return std::string(*line);
    if (!socket.open() || monotonic_seconds() >= until) break;
    const auto events = static_cast<short>(POLLIN | (socket.wants_to_write() ? POLLOUT : 0));
    pollfd ready[2] = {{socket.descriptor(), events, 0}, {signals.descriptor(), POLLIN, 0}};
    ::poll(ready, 2, milliseconds_until(until));
    if (const int number = signals.next()) throw stopped_early(number, "while meeting node 0");
  }
  why = socket.peer_address() + " answers, but not as node 0 of a job: " +
        (socket.open() ? "it said nothing for " + format_duration(kWelcomeSeconds) : socket.end());
  return std::nullopt;
}

NotBelieved no_secret_there(const Applicant& self, const std::string& address) {
  return NotBelieved(
      Error(ExitCode::kUsage, "node 0 has no secret of this job, and " + self.name + " has one")
          .where(address)
          .why("whoever takes that address could tell this node what to do")
          .hint("the same HFTRAIN_JOB_SECRET, or --rdzv_conf secret_file=PATH, on all nodes"));
}

NotBelieved not_proven(const std::string& address) {
  return NotBelieved(
      Error(ExitCode::kEnvironment, "what answers as node 0 does not know the secret of this job")
          .where(address)
          .why("its answer has no proof, or a wrong one")
          .hint("see what listens there; the same secret on all nodes"));
}

// Whatever exit code it names: anybody could.
NotBelieved refused_without_proof(const Refusal& refusal, const Applicant& self, const std::string& address) {
  return NotBelieved(
      Error(ExitCode::kEnvironment, "what answers as node 0 did not take " + self.name + " into its job")
          .where(address)
          .why("it did not show that it knows this node's secret; it said: " + trim(refusal.text))
          .hint("the same HFTRAIN_JOB_SECRET, or --rdzv_conf secret_file=PATH, on all nodes; else see what "
                "listens there"));
}

Error refused(const Refusal& refusal, const Applicant& self, const std::string& address) {
  return Error(failure_code(refusal.exit_code), "node 0 did not take " + self.name + " into its job")
      .where(address)
      .why(trim(refusal.text))
      .hint("see to what it says, then start all nodes again");
}

}  // namespace

std::optional<std::string> greet_leader(LineSocket& socket, const Applicant& self, StopSignals& signals,
                                        std::string& why) {
  const double until = monotonic_seconds() + welcome_seconds(self.hello.agents);
  const auto first = hear(socket, until, signals, why);
  if (!first) return std::nullopt;
  const std::optional<Challenge> challenge = read_challenge(*first);
  if (!challenge) {
    why = socket.peer_address() +
          " answers, but not as node 0 of a job: what it says is no greeting of this program";
    return std::nullopt;
  }
  if (!challenge->secret && !self.key.empty()) throw no_secret_there(self, socket.peer_address());
  const std::string number = random_number();
  socket.send(hello_line(self.hello, self.key, *challenge, number));
  const auto second = hear(socket, until, signals, why);
  if (!second) return std::nullopt;
  const Answer answer = read_answer(*second, self.key, *challenge, number);
  if (answer.refusal && !answer.proven)
    throw refused_without_proof(*answer.refusal, self, socket.peer_address());
  if (answer.refusal) throw refused(*answer.refusal, self, socket.peer_address());
  if (!answer.welcome) throw not_proven(socket.peer_address());
  return answer.welcome->host;
}

}  // namespace hftrain::launcher
