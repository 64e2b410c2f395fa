// Every other agent joins agent 0.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/greeting.h"
#include "launcher/control/leader_greeting.h"
#include "launcher/control/meeting_sides.h"
#include "launcher/control/preflight.h"

namespace hftrain::launcher {
namespace {

constexpr double kJoinSeconds = 9;
constexpr double kConnectSeconds = 3;   // of one attempt
constexpr double kPauseSeconds = 0.25;  // between two attempts

class Joiner {
 public:
  Joiner(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice)
      : spec_(std::move(spec)),
        signals_(signals),
        notice_(notice),
        self_{hello_of(spec_), name_of(spec_.introduction.facts), {}} {}

  Joined run() {
    const double begin = monotonic_seconds();
    const double seconds = patience();
    find_endpoints();
    // An exchange may have waited for agent 0 already; the way to it is tried as long from then on.
    deadline_ = monotonic_seconds() + seconds;
    double next_notice = begin + kConnectSeconds;
    while (true) {
      if (std::optional<Joined> joined = try_all()) return std::move(*joined);
      const double left = deadline_ - monotonic_seconds();
      if (left <= 0) throw unreachable(monotonic_seconds() - begin);
      if (monotonic_seconds() > next_notice) {
        next_notice = monotonic_seconds() + spec_.notice_seconds;
        notice_(self_.name + " cannot reach node 0 yet (" + why_ + "); trying for " + format_duration(left) +
                " more");
      }
      pause(std::min(kPauseSeconds, left));
    }
  }

 private:
  double patience() const {
    // Where agent 0 tells its places by an exchange it listens at them already.
    return patience_of(spec_, spec_.membership.by_scheduler && spec_.exchange == nullptr
                                  ? std::min(kGatherSeconds, spec_.collective_timeout_seconds)
                                  : kJoinSeconds);
  }

  void find_endpoints() {
    const Membership& membership = spec_.membership;
    self_.key = JobKey(spec_.secret, "");
    if (spec_.exchange == nullptr) {
      endpoints_ = {{membership.master_host, membership.master_port}};
      return;
    }
    Announcement announcement = read_announcement(
        spec_.exchange->await(exchange_wait(spec_, patience_of(spec_, kGatherSeconds), signals_, notice_)));
    self_.key = JobKey(spec_.secret, announcement.token);
    endpoints_ = std::move(announcement.endpoints);
  }

  void pause(double seconds) {
    pollfd signal{signals_.descriptor(), POLLIN, 0};
    ::poll(&signal, 1, static_cast<int>(std::ceil(seconds * 1000)));
    if (const int number = signals_.next()) throw stopped_early(number, "while looking for node 0");
  }

  std::optional<Joined> try_all() {
    std::vector<std::string> failures;
    std::optional<NotBelieved> stranger;
    for (const Endpoint& endpoint : endpoints_) {
      const double seconds = std::clamp(deadline_ - monotonic_seconds(), 0.5, kConnectSeconds);
      std::string why;
      FileDescriptor socket = connect_to(endpoint, spec_.membership.local_address, seconds, why);
      if (socket) {
        const int agents = spec_.membership.agents;
        LineSocket line(std::move(socket), kLongestGreeting, silence_seconds(agents));
        try {
          if (const auto host = greet_leader(line, self_, signals_, why))
            return introduce(ControlLink(std::move(line), agents), *host);
        } catch (const NotBelieved& error) {
          if (!stranger) stranger.emplace(error);
        }
      }
      failures.push_back(why);
    }
    if (stranger) throw *stranger;
    why_ = join(failures, "; ");
    return std::nullopt;
  }

  Joined introduce(ControlLink link, const std::string& host) {
    Introduction introduction = spec_.introduction;
    introduction.address = link.local_address();
    introduction.interface = interface_of(introduction.address);
    introduction.time = unix_seconds();
    std::unique_ptr<AnswerPort> answer_port;
    if (!spec_.failure) {
      answer_port = std::make_unique<AnswerPort>(std::vector{introduction.address});
      introduction.answer_port = answer_port->port();
      introduction.answer = answer_port->answer();
    }
    // First: arguments that differ, which node 0 would find next, may well be why it failed.
    if (spec_.failure) link.send(failure_of(*spec_.failure));
    link.send(introduction);
    return {std::move(link), "node 0 (" + host + ")", std::move(answer_port)};
  }

  Error unreachable(double tried) const {
    std::vector<std::string> places;
    for (const Endpoint& endpoint : endpoints_) {
      places.push_back(endpoint.host + " port " + std::to_string(endpoint.port));
    }
    return Error(ExitCode::kEnvironment, self_.name + " cannot reach node 0")
        .where(join(places, ", ") + (spec_.exchange == nullptr ? " (--master_addr, --master_port)" : ""))
        .why(why_ + "; tried for " + format_duration(tried))
        .hint("see whether node 0 runs and that address is right, and whether a firewall is between" +
              way_to_wait_longer(patience()));
  }

  MeetingSpec spec_;
  StopSignals& signals_;
  const NoticeSink& notice_;
  Applicant self_;
  std::vector<Endpoint> endpoints_;
  std::string why_;
  double deadline_ = 0;
};

}  // namespace

Joined join_leader(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice) {
  return Joiner(std::move(spec), signals, notice).run();
}

}  // namespace hftrain::launcher
