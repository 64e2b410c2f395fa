#include "launcher/control/meeting.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/machine/identity.h"
#include "launcher/control/greeting.h"
#include "launcher/control/introduction_check.h"
#include "launcher/control/preflight.h"
#include "launcher/control/reach.h"
#include "launcher/control/warning_notice.h"
#include "launcher/process/descriptor_limit.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {
namespace {

constexpr double kGatherSeconds = 300;
constexpr double kJoinSeconds = 9;
constexpr double kConnectSeconds = 3;  // of one attempt
constexpr double kWelcomeSeconds = 5;
constexpr double kClockSeconds = 5;     // between two clocks, and worth a word
constexpr double kPauseSeconds = 0.25;  // between two attempts

Hello hello_of(const MeetingSpec& spec) {
  Hello hello;
  hello.job_id = spec.membership.job_id;
  hello.agent = spec.membership.agent;
  hello.agents = spec.membership.agents;
  hello.host = spec.introduction.facts.host;
  hello.version = spec.version;
  hello.build = spec.build;
  return hello;
}

// How long this agent looks for the others.
double seconds_of(const MeetingSpec& spec, double otherwise) {
  const double asked = spec.membership.meeting_seconds.value_or(otherwise);
  return spec.failure ? std::min(asked, kTellSeconds) : asked;
}

ExchangeWait wait_of(const MeetingSpec& spec, double seconds, StopSignals& signals,
                     const NoticeSink& notice) {
  ExchangeWait wait(seconds);
  wait.wake = signals.descriptor();
  wait.on_wake = [&signals] {
    if (const int signal = signals.next()) throw stopped_early(signal, "while meeting the other nodes");
  };
  wait.notice_seconds = spec.notice_seconds;
  wait.on_notice = notice;
  return wait;
}

// Of many only the first.
std::string list(std::vector<std::string> names) {
  constexpr size_t kMost = 20;
  const size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string longer_than(double seconds) {
  return "; --rdzv_conf join_timeout=SECONDS waits longer than " + format_duration(seconds);
}

class Gatherer {
 public:
  Gatherer(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice)
      : spec_(std::move(spec)), signals_(signals), notice_(notice) {}

  Gathering run() {
    const Membership& membership = spec_.membership;
    if (membership.meeting == Meeting::kFixedAddress) look_at_own_name();
    check_descriptor_limit(membership.agents, own_ranks());
    const std::string token = spec_.exchange != nullptr ? random_number() : "";
    HubSpec hub;
    hub.port = membership.meeting == Meeting::kFixedAddress ? membership.master_port : 0;
    hub.flag = "--master_port";
    hub.hello = hello_of(spec_);
    hub.key = JobKey(spec_.secret, token);
    hub.addresses = addresses(hub.key);
    hub_ = std::make_unique<ControlHub>(std::move(hub));
    agents_.resize(static_cast<size_t>(membership.agents));
    const double seconds = patience();
    if (spec_.exchange != nullptr)
      spec_.exchange->publish(hub_->announcement(token), wait_of(spec_, seconds, signals_, notice_));
    try {
      wait_for_all(seconds);
      introduce_self();
      if (spec_.failure) throw *spec_.failure;
      if (const auto error = differing_arguments(agents_)) throw *error;
    } catch (const Error& error) {
      // Whatever the others have to say meanwhile, this is where the user looks first.
      const Error& why = spec_.failure ? *spec_.failure : error;
      if (spec_.before_refusal) spec_.before_refusal(why);
      hub_->refuse_all(why);
      throw why;
    }
    return {std::move(hub_), std::move(agents_), std::move(answer_port_)};
  }

 private:
  // The others look for node 0 where the user said that it is.
  void look_at_own_name() const {
    const std::string& host = spec_.membership.master_host;
    std::string why;
    const std::vector<std::string> named = addresses_of(host, why), own = own_addresses();
    const std::string here = "this machine has " + join(own, ", ");
    if (named.empty()) {
      throw Error(ExitCode::kEnvironment, "no machine can find node 0")
          .where("--master_addr " + host)
          .why(why)
          .hint("a name that all machines know, or an address; " + here);
    }
    if (own.empty()) throw no_address();
    const bool is_own = std::any_of(named.begin(), named.end(), [&](const std::string& address) {
      return address.rfind("127.", 0) == 0 || std::find(own.begin(), own.end(), address) != own.end();
    });
    if (!is_own) {
      notice_(kWarningNotice + host + " (" + join(named, ", ") + ") is not this machine, which is node 0: " +
              here + "; the others find it there only if connections are passed on to it");
    }
  }

  int own_ranks() const {
    return std::max({1, static_cast<int>(spec_.introduction.facts.topology.visible.devices.size()),
                     std::atoi(spec_.introduction.facts.nproc_per_node.value_or("").c_str())});
  }

  // Whoever knows the secret may come from anywhere. Without one only the job's own interface is open.
  std::vector<std::string> addresses(const JobKey& key) const {
    const Membership& membership = spec_.membership;
    std::vector<std::string> chosen = meeting_addresses(membership, !key.empty());
    if (!membership.local_address.empty() || !key.empty()) return chosen;
    if (chosen.empty()) throw no_address();
    if (!any_from_outside(chosen)) return chosen;
    notice_("this job has no secret: node 0 listens only at " + join(chosen, ", ") + " port " +
            std::to_string(membership.master_port) +
            ", and takes whoever comes there (HFTRAIN_JOB_SECRET, --rdzv_conf secret_file=PATH)");
    return chosen;
  }

  Error no_address() const {
    return Error(ExitCode::kEnvironment, "this machine has no address at which node 0 could listen")
        .where("--master_addr " + spec_.membership.master_host)
        .why("no network interface of it is up")
        .hint("bring one up (`ip address` shows them), then start the job again");
  }

  void wait_for_all(double seconds) {
    const double begin = monotonic_seconds(), deadline = begin + seconds;
    double next_notice = begin + spec_.notice_seconds;
    while (!hub_->all_came()) {
      std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}};
      hub_->append_descriptors(watched);
      ::poll(watched.data(), watched.size(),
             milliseconds_until(std::min({deadline, next_notice, hub_->next_deadline()})));
      if (const int signal = signals_.next()) throw stopped_early(signal, "while waiting for " + missing());
      take(hub_->work());
      const double now = monotonic_seconds();
      if (now >= deadline && !hub_->all_came()) throw not_all_came(now - begin);
      if (now < next_notice) continue;
      next_notice = now + spec_.notice_seconds;
      notice_("still waiting for " + missing() + " of " + std::to_string(spec_.membership.agents) +
              " to come to " + own_place() + " (" + format_duration(now - begin) + ")");
    }
  }

  void take(ControlHub::News news) {
    for (const std::string& text : news.notices) notice_(text);
    if (!news.notices.empty()) last_refusal_ = without_warning(news.notices.back());
    for (ControlHub::News::Said& said : news.said) {
      if (auto* introduction = std::get_if<Introduction>(&said.message)) {
        if (const auto error = unfit_introduction(*introduction, hub_->name_of(said.agent))) throw *error;
        introduction->facts.agent = said.agent;
        compare_clocks(*introduction);
        agents_[static_cast<size_t>(said.agent)] = std::move(*introduction);
      } else if (const auto* failure = std::get_if<AgentFailed>(&said.message)) {
        // When nothing comes of it anyway, those that are still on their way are to hear it too.
        if (!spec_.failure) throw error_of(*failure).context("on " + hub_->name_of(said.agent));
      } else if (const auto* stop = std::get_if<StopReceived>(&said.message)) {
        throw stopped_early(stop->signal, "on " + hub_->name_of(said.agent) + ", before training began");
      }
    }
    for (const ControlHub::News::Lost& lost : news.lost) {
      throw Error(ExitCode::kWorkerLost, hub_->name_of(lost.agent) + " was lost before the job began")
          .where(hub_->address_of(lost.agent))
          .why(lost.why)
          .hint("look at what it said on its own terminal");
    }
  }

  void compare_clocks(const Introduction& other) const {
    const double behind = unix_seconds() - other.time;
    if (std::abs(behind) < kClockSeconds) return;
    notice_("the clock of " + name_of(other.facts) + " is " + format_duration(std::abs(behind)) +
            (behind > 0 ? " behind" : " ahead of") +
            " this one's: times in logs of different nodes do not compare");
  }

  void introduce_self() {
    Introduction& own = agents_.front() = spec_.introduction;
    for (auto& [key, value] : own.arguments) value = printable(value);  // as those of the others are read
    own.address = hub_->address_towards(1);
    own.interface = interface_of(own.address);
    if (spec_.failure || hub_->agents() == 1) return;
    // The others look for this agent where they have found it, and it listens nowhere else.
    std::set<std::string> found_at;
    for (int agent = 1; agent < hub_->agents(); ++agent) found_at.insert(hub_->address_towards(agent));
    answer_port_ = std::make_unique<AnswerPort>(std::vector<std::string>(found_at.begin(), found_at.end()));
    own.answer_port = answer_port_->port();
    own.answer = answer_port_->answer();
  }

  std::string missing() const {
    std::vector<std::string> names;
    for (const int agent : hub_->missing()) names.push_back(std::to_string(agent));
    return (names.size() == 1 ? "node " : "nodes ") + list(names);
  }

  static std::string first_address() {
    const std::vector<std::string> own = own_addresses();
    return own.empty() ? "a machine without an address" : own.front();
  }

  std::string own_place() const {
    const Membership& membership = spec_.membership;
    const std::string host =
        membership.meeting == Meeting::kFixedAddress ? membership.master_host : first_address();
    return host + " port " + std::to_string(hub_->port());
  }

  Error not_all_came(double waited) const {
    std::vector<std::string> here;
    for (int agent = 1; agent < spec_.membership.agents; ++agent) {
      if (hub_->is_here(agent)) here.push_back(hub_->name_of(agent) + " at " + hub_->address_of(agent));
    }
    return Error(ExitCode::kEnvironment, missing() + " did not come within " + format_duration(waited))
        .where(own_place() + ", where node 0 listens")
        .why((here.empty() ? "nobody has come" : "here are " + list(here)) +
             (last_refusal_.empty() ? "" : "; " + last_refusal_))
        .hint(
            "see whether they were started, and what they say; they must reach that address through any "
            "firewall" +
            longer_than(patience()));
  }

  double patience() const {
    return seconds_of(spec_, std::min(kGatherSeconds, spec_.collective_timeout_seconds));
  }

  MeetingSpec spec_;
  StopSignals& signals_;
  const NoticeSink& notice_;
  std::string last_refusal_;
  std::unique_ptr<ControlHub> hub_;
  std::unique_ptr<AnswerPort> answer_port_;
  std::vector<Introduction> agents_;
};

class Joiner {
 public:
  Joiner(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice)
      : spec_(std::move(spec)), signals_(signals), notice_(notice) {}

  Joined run() {
    const double begin = monotonic_seconds();
    const double seconds = seconds_of(spec_, kJoinSeconds);
    find_endpoints();
    // An exchange may have waited for agent 0 already; the way to it is tried as long from then on.
    deadline_ = monotonic_seconds() + seconds;
    bool told = false;
    while (true) {
      if (std::optional<Joined> joined = try_all()) return std::move(*joined);
      const double left = deadline_ - monotonic_seconds();
      if (left <= 0) throw unreachable(monotonic_seconds() - begin);
      if (!told && monotonic_seconds() - begin > kConnectSeconds) {
        told = true;
        notice_(self() + " cannot reach node 0 yet (" + why_ + "); trying for " + format_duration(left) +
                " more");
      }
      pause(std::min(kPauseSeconds, left));
    }
  }

 private:
  std::string self() const { return name_of(spec_.introduction.facts); }

  void find_endpoints() {
    const Membership& membership = spec_.membership;
    key_ = JobKey(spec_.secret, "");
    if (spec_.exchange == nullptr) {
      endpoints_ = {{membership.master_host, membership.master_port}};
      return;
    }
    Announcement announcement = read_announcement(
        spec_.exchange->await(wait_of(spec_, seconds_of(spec_, kGatherSeconds), signals_, notice_)));
    key_ = JobKey(spec_.secret, announcement.token);
    endpoints_ = std::move(announcement.endpoints);
  }

  void pause(double seconds) {
    pollfd signal{signals_.descriptor(), POLLIN, 0};
    ::poll(&signal, 1, static_cast<int>(std::ceil(seconds * 1000)));
    if (const int number = signals_.next()) throw stopped_early(number, "while looking for node 0");
  }

  // Somebody answers who is not to be believed: not the end where another address may lead to node 0.
  class NotBelieved : public Error {
   public:
    explicit NotBelieved(const Error& error) : Error(error) {}
  };

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
          if (auto joined = greet(line, why)) return joined;
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

  // The next line, unless none comes in time: `why` then says what did.
  std::optional<std::string> hear(LineSocket& socket, double until, std::string& why) {
    while (true) {
      socket.work();
      if (const auto line = socket.next_line()) return std::string(*line);
      if (!socket.open() || monotonic_seconds() >= until) break;
      const auto events = static_cast<short>(POLLIN | (socket.wants_to_write() ? POLLOUT : 0));
      pollfd ready[2] = {{socket.descriptor(), events, 0}, {signals_.descriptor(), POLLIN, 0}};
      ::poll(ready, 2, milliseconds_until(until));
      if (const int number = signals_.next()) throw stopped_early(number, "while meeting node 0");
    }
    why = socket.peer_address() + " answers, but not as node 0 of a job: " +
          (socket.open() ? "it said nothing for " + format_duration(kWelcomeSeconds) : socket.end());
    return std::nullopt;
  }

  std::optional<Joined> greet(LineSocket& socket, std::string& why) {
    const double until = monotonic_seconds() + welcome_seconds();
    const auto first = hear(socket, until, why);
    if (!first) return std::nullopt;
    const std::optional<Challenge> challenge = read_challenge(*first);
    if (!challenge) {
      why = socket.peer_address() +
            " answers, but not as node 0 of a job: what it says is no greeting of this program";
      return std::nullopt;
    }
    if (!challenge->secret && !key_.empty()) throw no_secret_there(socket.peer_address());
    const std::string number = random_number();
    socket.send(hello_line(hello_of(spec_), key_, *challenge, number));
    const auto second = hear(socket, until, why);
    if (!second) return std::nullopt;
    const Answer answer = read_answer(*second, key_, *challenge, number);
    if (answer.refusal && !answer.proven) throw refused_without_proof(*answer.refusal, socket.peer_address());
    if (answer.refusal) throw refused(*answer.refusal, socket.peer_address());
    if (!answer.welcome) throw not_proven(socket.peer_address());
    return introduce(ControlLink(std::move(socket), spec_.membership.agents), answer.welcome->host);
  }

  // Node 0 of many answers one after the other.
  double welcome_seconds() const {
    return std::max(kWelcomeSeconds, silence_seconds(spec_.membership.agents));
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

  NotBelieved no_secret_there(const std::string& address) const {
    return NotBelieved(
        Error(ExitCode::kUsage, "node 0 has no secret of this job, and " + self() + " has one")
            .where(address)
            .why("whoever takes that address could tell this node what to do")
            .hint("the same HFTRAIN_JOB_SECRET, or --rdzv_conf secret_file=PATH, on all nodes"));
  }

  NotBelieved not_proven(const std::string& address) const {
    return NotBelieved(
        Error(ExitCode::kEnvironment, "what answers as node 0 does not know the secret of this job")
            .where(address)
            .why("its answer has no proof, or a wrong one")
            .hint("see what listens there; the same secret on all nodes"));
  }

  // Whatever exit code it names: anybody could.
  NotBelieved refused_without_proof(const Refusal& refusal, const std::string& address) const {
    return NotBelieved(
        Error(ExitCode::kEnvironment, "what answers as node 0 did not take " + self() + " into its job")
            .where(address)
            .why("it did not show that it knows this node's secret; it said: " + trim(refusal.text))
            .hint("the same HFTRAIN_JOB_SECRET, or --rdzv_conf secret_file=PATH, on all nodes; else see what "
                  "listens there"));
  }

  Error refused(const Refusal& refusal, const std::string& address) const {
    return Error(failure_code(refusal.exit_code), "node 0 did not take " + self() + " into its job")
        .where(address)
        .why(trim(refusal.text))
        .hint("see to what it says, then start all nodes again");
  }

  Error unreachable(double tried) const {
    std::vector<std::string> places;
    for (const Endpoint& endpoint : endpoints_) {
      places.push_back(endpoint.host + " port " + std::to_string(endpoint.port));
    }
    return Error(ExitCode::kEnvironment, self() + " cannot reach node 0")
        .where(join(places, ", ") + (spec_.exchange == nullptr ? " (--master_addr, --master_port)" : ""))
        .why(why_ + "; tried for " + format_duration(tried))
        .hint("see whether node 0 runs and that address is right, and whether a firewall is between" +
              longer_than(seconds_of(spec_, kJoinSeconds)));
  }

  MeetingSpec spec_;
  StopSignals& signals_;
  const NoticeSink& notice_;
  JobKey key_;
  std::vector<Endpoint> endpoints_;
  std::string why_;
  double deadline_ = 0;
};

}  // namespace

Error stopped_early(int signal, const std::string& during) {
  return Error(ExitCode::kTerminatedUnsaved, "stopped by " + signal_name(signal) + " " + during)
      .where("before training, on " + machine::host_name())
      .why("no rank was running")
      .hint("start it again; an earlier run in the output folder is as it was");
}

std::vector<std::string> meeting_addresses(const Membership& membership, bool has_secret) {
  if (!membership.local_address.empty()) return {membership.local_address};
  if (has_secret) return {};
  std::string why;
  return addresses_to_listen_at(membership.master_host, addresses_of(membership.master_host, why),
                                own_addresses());
}

Gathering gather_agents(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice) {
  return Gatherer(std::move(spec), signals, notice).run();
}

Joined join_leader(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice) {
  return Joiner(std::move(spec), signals, notice).run();
}

}  // namespace hftrain::launcher
