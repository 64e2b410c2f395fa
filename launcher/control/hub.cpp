#include "launcher/control/hub.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "launcher/control/background_work.h"
#include "launcher/process/descriptor_limit.h"

namespace hftrain::launcher {
namespace {

// A newcomer that says nothing is not kept, nor more of them than could be agents on their way.
constexpr double kHelloSeconds = 10;
constexpr size_t kMostNewcomers = 64;  // and one for each agent
constexpr int kAcceptedAtOnce = 64;    // whoever knocks faster than that still leaves time for the others
constexpr double kListenAgainSeconds = 1;

// Whose descriptor has something: what kind, and which.
enum class Whose : uint32_t { kListener, kNewcomer, kMember };
uint64_t tag(Whose whose, uint32_t number) {
  return uint64_t{static_cast<uint32_t>(whose)} << 32 | number;
}

std::string node_name(int agent, const std::string& host) {
  return "node " + std::to_string(agent) + (host.empty() ? "" : " (" + host + ")");
}

Refusal refusal_of(const Error& error) {
  return {static_cast<int>(error.code()), error.render()};
}

std::shared_ptr<const std::string> encoded(const Message& message) {
  return std::make_shared<const std::string>(encode_message(message));
}

}  // namespace

ControlHub::ControlHub(HubSpec spec)
    : spec_(std::move(spec)),
      watch_(::epoll_create1(EPOLL_CLOEXEC)),
      listeners_(listen_at(spec_.addresses, spec_.port, spec_.flag)),
      port_(port_of(listeners_.front().get())),
      next_beat_(monotonic_seconds() + ControlLink::kHeartbeatSeconds) {
  if (!watch_) throw system_error(errno, "cannot watch connections", "epoll_create1");
  listen_again();
}

bool ControlHub::watch(int descriptor, uint64_t whose, bool writing, bool is_new) {
  epoll_event event{};
  event.events = EPOLLIN | (writing ? static_cast<uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = whose;
  return ::epoll_ctl(watch_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0;
}

std::string ControlHub::announcement(const std::string& token) const {
  std::string text = token;
  for (const std::string& address : spec_.addresses.empty() ? own_addresses() : spec_.addresses) {
    const std::string more = '|' + address;
    // Room for the port is kept.
    if (text.size() + more.size() + 8 > 900) break;
    text += more;
  }
  return text + '|' + std::to_string(port_);
}

Announcement read_announcement(const std::string& text) {
  const std::vector<std::string> parts = split(text, '|');
  int port = 0;
  if (parts.size() >= 3)
    std::from_chars(parts.back().data(), parts.back().data() + parts.back().size(), port);
  if (port <= 0 || port > 65535) {
    throw Error(ExitCode::kEnvironment, "what was said of node 0's address cannot be read")
        .where("MASTER_ADDR of this node")
        .why("'" + printable(text.substr(0, 100)) + "'")
        .hint("start all nodes of the job with one program");
  }
  Announcement announcement{parts.front(), {}};
  for (size_t i = 1; i + 1 < parts.size(); ++i) announcement.endpoints.push_back({parts[i], port});
  return announcement;
}

void ControlHub::append_descriptors(std::vector<pollfd>& watched) const {
  watched.push_back({watch_.get(), POLLIN, 0});
}

ControlHub::News ControlHub::work() {
  News news;
  news.said = std::exchange(kept_, {});
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(watch_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t whose = events[static_cast<size_t>(i)].data.u64;
    const auto number = static_cast<uint32_t>(whose);
    switch (static_cast<Whose>(whose >> 32)) {
      case Whose::kListener:
        accept_newcomers(number, news);
        break;
      case Whose::kNewcomer:
        hear_newcomer(number, news);
        break;
      case Whose::kMember:
        hear_member(static_cast<int>(number), news);
        break;
    }
  }
  const double now = monotonic_seconds();
  drop_silent_newcomers(now);
  if (listen_at_ > 0 && now >= listen_at_) listen_again();
  if (now >= next_beat_) beat(now, news);
  return news;
}

// A machine where a thousand agents start at once gives each its turn late.
double ControlHub::hello_seconds() const {
  return std::max(kHelloSeconds, silence_seconds(agents()));
}

double ControlHub::next_deadline() const {
  double next = next_beat_;
  if (!newcomers_.empty()) next = std::min(next, newcomers_.begin()->second.since + hello_seconds());
  if (listen_at_ > 0) next = std::min(next, listen_at_);
  return next;
}

void ControlHub::accept_newcomers(size_t listener, News& news) {
  for (int accepted = 0; accepted < kAcceptedAtOnce; ++accepted) {
    FileDescriptor socket(
        ::accept4(listeners_[listener].get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // The kernel goes on to say that somebody waits: listening stops for a moment.
      const std::string why = std::strerror(errno);
      for (const FileDescriptor& each : listeners_)
        ::epoll_ctl(watch_.get(), EPOLL_CTL_DEL, each.get(), nullptr);
      if (listen_at_ == 0)
        strangers_.refused("somebody at port " + std::to_string(port_),
                           why + "; this process has " + describe_descriptor_limit(), monotonic_seconds(),
                           news.notices);
      listen_at_ = monotonic_seconds() + kListenAgainSeconds;
      return;
    }
    Newcomer newcomer{LineSocket(std::move(socket), kLongestGreeting, silence_seconds(agents())),
                      {random_number(), !spec_.key.empty()},
                      monotonic_seconds()};
    newcomer.socket.send(challenge_line(newcomer.challenge));
    const uint32_t id = next_newcomer_++;
    if (!watch(newcomer.socket.descriptor(), tag(Whose::kNewcomer, id), false, true)) continue;
    newcomers_.emplace(id, std::move(newcomer));
    if (newcomers_.size() > kMostNewcomers + static_cast<size_t>(agents()))
      newcomers_.erase(newcomers_.begin());
  }
}

void ControlHub::listen_again() {
  listen_at_ = 0;
  for (size_t i = 0; i < listeners_.size(); ++i)
    watch(listeners_[i].get(), tag(Whose::kListener, static_cast<uint32_t>(i)), false, true);
}

void ControlHub::drop_silent_newcomers(double now) {
  while (!newcomers_.empty() && now >= newcomers_.begin()->second.since + hello_seconds())
    newcomers_.erase(newcomers_.begin());
}

void ControlHub::hear_newcomer(uint32_t id, News& news) {
  const auto found = newcomers_.find(id);
  if (found == newcomers_.end()) return;
  Newcomer& newcomer = found->second;
  newcomer.socket.work();
  if (!finishing_ && newcomer.socket.open() && newcomer.socket.overlong()) {
    turn_away(newcomer, "what it says is longer than a greeting of this program", news);
    newcomers_.erase(found);
    return;
  }
  const std::optional<std::string_view> line = newcomer.socket.next_line();
  // One that goes before it was welcomed has not come; what is said after the last word is only answered.
  if (line && newcomer.socket.open()) {
    const std::optional<HelloLine> parts = split_hello(*line);
    if (parts) newcomer.number = parts->number;
    if (finishing_) {
      if (refusal_ && !newcomer.refused) refuse(newcomer, *refusal_);
      return;
    }
    Hello hello;
    const std::string why =
        parts ? stranger_because(*parts, newcomer, hello) : "what it says is no greeting of this program";
    if (!why.empty()) {
      turn_away(newcomer, why, news);
    } else {
      check_hello(hello, newcomer.socket.peer_address());
      admit(newcomer, hello, parts->number, news);
    }
    newcomers_.erase(found);
  } else if (!newcomer.socket.open()) {
    newcomers_.erase(found);
  }
}

std::string ControlHub::stranger_because(const HelloLine& line, const Newcomer& newcomer,
                                         Hello& hello) const {
  if (!spec_.key.empty() && !spec_.key.proves(line.proof, JobKey::Side::kFollower, newcomer.challenge.number,
                                              line.number, line.text)) {
    return line.proof == "-" ? "this job has a secret, and it did not show that it knows one "
                               "(HFTRAIN_JOB_SECRET, --rdzv_conf secret_file=PATH)"
                             : "it does not know the secret of this job";
  }
  std::optional<Hello> read = read_hello(line.text);
  if (!read) return "it did not say who it is";
  hello = std::move(*read);
  if (hello.job_id != spec_.hello.job_id)
    return "its job is '" + hello.job_id + "', and this one is '" + spec_.hello.job_id + "'";
  if (all_came()) return "all nodes of this job have come";
  return "";
}

void ControlHub::turn_away(Newcomer& newcomer, const std::string& why, News& news) {
  strangers_.refused(newcomer.socket.peer_address(), why, monotonic_seconds(), news.notices);
  refuse(newcomer,
         {static_cast<int>(ExitCode::kUsage), "refused by node 0 (" + spec_.hello.host + "): " + why});
}

void ControlHub::refuse(Newcomer& newcomer, const Refusal& refusal) const {
  newcomer.refused = true;
  newcomer.socket.send(refusal_line(refusal, spec_.key, newcomer.challenge, newcomer.number));
  newcomer.socket.finish_sending();
}

void ControlHub::check_hello(const Hello& hello, const std::string& from) const {
  const std::string here = node_name(0, spec_.hello.host);
  const std::string there = node_name(hello.agent, hello.host) + " at " + from;
  if (hello.build != spec_.hello.build || hello.version != spec_.hello.version) {
    throw Error(ExitCode::kEnvironment, "the nodes run different builds of hftrain")
        .where(there)
        .why(here + " has " + spec_.hello.version + " build " + spec_.hello.build + ", " +
             node_name(hello.agent, hello.host) + " has " + hello.version + " build " + hello.build)
        .hint("install the same build on all nodes");
  }
  if (hello.agents != spec_.hello.agents || hello.agent < 1 || hello.agent >= spec_.hello.agents) {
    throw Error(ExitCode::kUsage, "the nodes do not agree how many they are")
        .where(there)
        .why(here + " was started as one of " + std::to_string(spec_.hello.agents) + ", " + there +
             " as number " + std::to_string(hello.agent) + " of " + std::to_string(hello.agents))
        .hint("the same --nnodes everywhere, and --node_rank from 0 to one less");
  }
  const auto member = members_.find(hello.agent);
  if (member == members_.end()) return;
  throw Error(ExitCode::kUsage, "two nodes say that they are node " + std::to_string(hello.agent))
      .where(there)
      .why("the first was " + member->second.hello.host + " at " + member->second.link.peer_address())
      .hint("give each its own --node_rank");
}

void ControlHub::admit(Newcomer& newcomer, const Hello& hello, std::string_view number, News& news) {
  newcomer.socket.send(welcome_line(Welcome{spec_.hello.host}, spec_.key, newcomer.challenge, number));
  const auto place =
      members_.emplace(hello.agent, Member{hello, ControlLink(std::move(newcomer.socket), agents())}).first;
  Member& member = place->second;
  watch(member.link.descriptor(), tag(Whose::kMember, static_cast<uint32_t>(hello.agent)), false, false);
  hear_member(hello.agent, news);
}

void ControlHub::hear_member(int agent, News& news) {
  Member& member = members_.at(agent);
  if (member.lost) return;
  std::vector<Message> messages;
  member.link.work(messages);
  take_messages(agent, member, std::move(messages), news);
  if (member.link.open()) return watch_writing(agent, member);
  note_lost(agent, member, news);
}

void ControlHub::watch_writing(int agent, Member& member) {
  const bool wanted = member.link.wants_to_write();
  if (!member.link.open() || wanted == member.watches_writing) return;
  member.watches_writing = wanted;
  watch(member.link.descriptor(), tag(Whose::kMember, static_cast<uint32_t>(agent)), wanted, false);
}

void ControlHub::beat(double now, News& news) {
  next_beat_ = now + ControlLink::kHeartbeatSeconds / 2;
  for (auto& [agent, member] : members_) {
    if (member.lost) continue;
    // What waits to be read counts as heard.
    if (member.link.is_silent(now)) hear_member(agent, news);
    member.link.tick(now);
    if (member.lost) continue;
    if (member.link.open()) {
      watch_writing(agent, member);
    } else {
      note_lost(agent, member, news);
    }
  }
}

void ControlHub::note_lost(int agent, Member& member, News& news) {
  member.lost = true;
  ++lost_;
  news.lost.push_back({agent, member.link.end()});
}

void ControlHub::take_messages(int agent, Member& member, std::vector<Message> messages, News& news) {
  for (Message& message : messages) {
    if (std::holds_alternative<Introduction>(message)) {
      introduced_ += member.introduced ? 0 : 1;
      member.introduced = true;
    }
    news.said.push_back({agent, std::move(message)});
  }
}

void ControlHub::send(int agent, const Message& message) {
  const auto member = members_.find(agent);
  if (member == members_.end()) return;
  member->second.link.send(message);
  watch_writing(agent, member->second);
}

void ControlHub::send_to_all(const Message& message) {
  const auto line = encoded(message);
  for (auto& [agent, member] : members_) {
    member.link.send_line(line);
    watch_writing(agent, member);
  }
}

void ControlHub::refuse_all(const Error& error) {
  refusal_ = refusal_of(error);
  for (auto& [id, newcomer] : newcomers_) {
    // In a job with a secret one that has not spoken yet is answered when it does: to prove something takes
    // its number.
    if (spec_.key.empty() || !newcomer.number.empty()) refuse(newcomer, *refusal_);
  }
  finish(*refusal_, 2);
}

bool ControlHub::owes_an_answer() const {
  return refusal_ && std::any_of(newcomers_.begin(), newcomers_.end(),
                                 [](const auto& newcomer) { return !newcomer.second.refused; });
}

void ControlHub::wait_and_ignore(int also, double until) {
  pollfd some[2] = {{watch_.get(), POLLIN, 0}, {also, POLLIN, 0}};
  const double wait = std::max(0.0, std::min(until, next_deadline()) - monotonic_seconds());
  ::poll(some, 2, static_cast<int>(std::ceil(wait * 1000)));
  News news = work();
  std::erase_if(news.said,
                [](const News::Said& said) { return !std::holds_alternative<StopReceived>(said.message); });
  kept_ = std::move(news.said);
}

void ControlHub::run_in_background(const std::function<void()>& work) {
  BackgroundWork background([&work](const std::atomic<bool>&) { work(); });
  while (!background.over()) wait_and_ignore(background.descriptor(), next_deadline());
  background.finish();
}

void ControlHub::finish(const Message& last_word, double timeout_seconds) {
  listeners_.clear();
  listen_at_ = 0;
  finishing_ = true;
  send_to_all(last_word);
  for (auto& [agent, member] : members_) member.link.finish_sending();
  // To close now could destroy what is still on its way: each reads its last word and closes first.
  const double deadline = monotonic_seconds() + timeout_seconds;
  while ((lost_ < members_.size() || owes_an_answer()) && monotonic_seconds() < deadline)
    wait_and_ignore(-1, deadline);
}

std::vector<int> ControlHub::missing() const {
  std::vector<int> missing;
  for (int agent = 1; agent < agents(); ++agent) {
    const auto member = members_.find(agent);
    if (member == members_.end() || !member->second.introduced) missing.push_back(agent);
  }
  return missing;
}

bool ControlHub::is_here(int agent) const {
  const auto member = members_.find(agent);
  return agent == 0 || (member != members_.end() && !member->second.lost);
}

std::string ControlHub::name_of(int agent) const {
  if (agent == 0) return node_name(0, spec_.hello.host);
  const auto member = members_.find(agent);
  return node_name(agent, member == members_.end() ? "" : member->second.hello.host);
}

std::string ControlHub::address_towards(int agent) const {
  const auto member = members_.find(agent);
  return member == members_.end() ? "" : member->second.link.local_address();
}

std::string ControlHub::address_of(int agent) const {
  const auto member = members_.find(agent);
  return member == members_.end() ? "" : member->second.link.peer_address();
}

}  // namespace hftrain::launcher
