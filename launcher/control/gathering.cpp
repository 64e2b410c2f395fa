// Agent 0 gathers the others.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "launcher/control/addresses.h"
#include "launcher/control/introduction_check.h"
#include "launcher/control/leader_place.h"
#include "launcher/control/meeting_sides.h"
#include "launcher/control/preflight.h"
#include "launcher/control/warning_notice.h"
#include "launcher/process/descriptor_limit.h"

namespace hftrain::launcher {
namespace {

constexpr double kClockSeconds = 5;  // between two clocks, and worth a word

// Of many only the first.
std::string list(std::vector<std::string> names) {
  constexpr size_t kMost = 20;
  const size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

constexpr double kWithdrawSeconds = 1;  // nobody is served meanwhile

class Gatherer {
 public:
  Gatherer(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice)
      : spec_(std::move(spec)), signals_(signals), notice_(notice) {}

  Gathering run() {
    const Membership& membership = spec_.membership;
    if (membership.meeting == Meeting::kFixedAddress) look_at_own_name(membership, notice_);
    check_descriptor_limit(membership.agents, own_ranks());
    const std::string token = spec_.exchange != nullptr ? random_number() : "";
    HubSpec hub;
    hub.port = membership.meeting == Meeting::kFixedAddress ? membership.master_port : 0;
    hub.flag = "--master_port";
    hub.hello = hello_of(spec_);
    hub.key = JobKey(spec_.secret, token);
    hub.addresses = listening_addresses(membership, !hub.key.empty(), notice_);
    hub_ = std::make_unique<ControlHub>(std::move(hub));
    agents_.resize(static_cast<size_t>(membership.agents));
    const double seconds = patience();
    if (spec_.exchange != nullptr)
      spec_.exchange->publish(hub_->announcement(token), exchange_wait(spec_, seconds, signals_, notice_));
    try {
      wait_for_all(seconds);
      introduce_self();
      if (spec_.failure) throw *spec_.failure;
      if (const auto error = differing_arguments(agents_)) throw *error;
      if (const auto error = differing_weights(agents_)) throw *error;
    } catch (const Error& error) {
      // Whatever the others have to say meanwhile, this is where the user looks first.
      const Error& why = spec_.failure ? *spec_.failure : error;
      if (spec_.before_refusal) spec_.before_refusal(why);
      hub_->refuse_all(why);
      withdraw();
      throw why;
    }
    withdraw();
    return {std::move(hub_), std::move(agents_), std::move(answer_port_)};
  }

 private:
  // Where that fails the meeting is over all the same.
  void withdraw() {
    if (spec_.exchange == nullptr) return;
    try {
      spec_.exchange->withdraw(ExchangeWait(kWithdrawSeconds));
    } catch (const Error&) {
    }
  }

  int own_ranks() const {
    return std::max({1, static_cast<int>(spec_.introduction.facts.topology.visible.devices.size()),
                     std::atoi(spec_.introduction.facts.nproc_per_node.value_or("").c_str())});
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
            way_to_wait_longer(patience()));
  }

  double patience() const {
    return patience_of(spec_, std::min(kGatherSeconds, spec_.collective_timeout_seconds));
  }

  MeetingSpec spec_;
  StopSignals& signals_;
  const NoticeSink& notice_;
  std::string last_refusal_;
  std::unique_ptr<ControlHub> hub_;
  std::unique_ptr<AnswerPort> answer_port_;
  std::vector<Introduction> agents_;
};

}  // namespace

Gathering gather_agents(MeetingSpec spec, StopSignals& signals, const NoticeSink& notice) {
  return Gatherer(std::move(spec), signals, notice).run();
}

}  // namespace hftrain::launcher
