#include "launcher/control/hub.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

// A newcomer that says nothing is not kept.
constexpr double kHelloSeconds = 10;

std::string node_name(int agent, const std::string& host) {
  return "node " + std::to_string(agent) + (host.empty() ? "" : " (" + host + ")");
}

Refusal refusal_of(const Error& error) {
  return {static_cast<int>(error.code()), error.render()};
}

}  // namespace

ControlHub::ControlHub(HubSpec spec)
    : spec_(std::move(spec)),
      listener_(listen_everywhere(spec_.port, spec_.flag)),
      port_(port_of(listener_.get())) {}

std::string ControlHub::announcement() const {
  std::string text = spec_.hello.token;
  for (const std::string& address : own_addresses()) {
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
  if (port <= 0) {
    throw Error(ExitCode::kEnvironment, "what was said of node 0's address cannot be read")
        .why("'" + text.substr(0, 100) + "'")
        .hint("start all nodes of the job with one program");
  }
  Announcement announcement{parts.front(), {}};
  for (size_t i = 1; i + 1 < parts.size(); ++i) announcement.endpoints.push_back({parts[i], port});
  return announcement;
}

void ControlHub::append_descriptors(std::vector<pollfd>& watched) const {
  watched.push_back({listener_.get(), POLLIN, 0});
  for (const Newcomer& newcomer : newcomers_) {
    if (newcomer.link.open()) watched.push_back({newcomer.link.descriptor(), newcomer.link.events(), 0});
  }
  for (const auto& [agent, member] : members_) {
    if (member.link.open()) watched.push_back({member.link.descriptor(), member.link.events(), 0});
  }
}

ControlHub::News ControlHub::work() {
  News news;
  accept_newcomers();
  for (size_t i = 0; i < newcomers_.size(); ++i) hear_newcomer(newcomers_[i], news);
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return !newcomer.link.open(); });
  for (auto& [agent, member] : members_) hear_member(agent, member, news);
  return news;
}

double ControlHub::next_deadline() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Newcomer& newcomer : newcomers_) next = std::min(next, newcomer.since + kHelloSeconds);
  for (const auto& [agent, member] : members_) {
    if (member.link.open()) next = std::min(next, member.link.next_tick());
  }
  return next;
}

void ControlHub::accept_newcomers() {
  while (true) {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    Newcomer newcomer{ControlLink(std::move(socket)), monotonic_seconds()};
    newcomer.link.limit_message(ControlLink::kLongestHello);
    newcomers_.push_back(std::move(newcomer));
  }
}

void ControlHub::hear_newcomer(Newcomer& newcomer, News& news) {
  std::vector<Message> messages;
  newcomer.link.work(messages);
  const std::string from = newcomer.link.peer_address();
  if (messages.empty()) {
    if (monotonic_seconds() >= newcomer.since + kHelloSeconds) newcomer.link.close("it said nothing");
    return;
  }
  const Hello* hello = std::get_if<Hello>(&messages.front());
  const std::string stranger = hello == nullptr ? "it did not say who it is" : stranger_because(*hello);
  if (!stranger.empty()) {
    news.notices.push_back("refused a connection from " + from + ": " + stranger);
    newcomer.link.send(Refusal{static_cast<int>(ExitCode::kUsage),
                               "refused by node 0 (" + spec_.hello.host + "): " + stranger});
    newcomer.link.close("refused");
    return;
  }
  check_hello(*hello, from);
  const Hello known = *hello;
  messages.erase(messages.begin());
  admit(newcomer, known, std::move(messages), news);
}

std::string ControlHub::stranger_because(const Hello& hello) const {
  if (hello.token != spec_.hello.token) return "it belongs to another job";
  if (hello.job_id != spec_.hello.job_id) {
    return "its job is '" + hello.job_id + "', and this one is '" + spec_.hello.job_id + "'";
  }
  return "";
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

void ControlHub::admit(Newcomer& newcomer, const Hello& hello, std::vector<Message> rest, News& news) {
  newcomer.link.limit_message(ControlLink::kLongestMessage);
  newcomer.link.send(Welcome{spec_.hello.host});
  Member& member =
      members_.emplace(hello.agent, Member{hello, std::move(newcomer.link), false, false}).first->second;
  take_messages(hello.agent, member, std::move(rest), news);
}

void ControlHub::hear_member(int agent, Member& member, News& news) {
  if (member.lost) return;
  std::vector<Message> messages;
  member.link.work(messages);
  take_messages(agent, member, std::move(messages), news);
  member.link.tick(monotonic_seconds());
  if (member.link.open()) return;
  member.lost = true;
  news.lost.push_back({agent, member.link.end()});
}

void ControlHub::take_messages(int agent, Member& member, std::vector<Message> messages, News& news) {
  for (Message& message : messages) {
    if (std::holds_alternative<Introduction>(message)) member.introduced = true;
    news.said.push_back({agent, std::move(message)});
  }
}

void ControlHub::send(int agent, const Message& message) {
  const auto member = members_.find(agent);
  if (member != members_.end()) member->second.link.send(message);
}

void ControlHub::send_to_all(const Message& message) {
  for (auto& [agent, member] : members_) member.link.send(message);
}

void ControlHub::refuse_all(const Error& error) {
  for (Newcomer& newcomer : newcomers_) {
    newcomer.link.send(refusal_of(error));
    newcomer.link.finish_sending();
  }
  finish(refusal_of(error), 2);
}

void ControlHub::finish(const Message& last_word, double timeout_seconds) {
  listener_.reset();
  for (auto& [agent, member] : members_) {
    member.link.send(last_word);
    member.link.finish_sending();
  }
  // To close now could destroy what is still on its way: each reads its last word and closes first.
  const double deadline = monotonic_seconds() + timeout_seconds;
  std::vector<Message> ignored;
  while (true) {
    std::vector<pollfd> watched;
    for (auto& [agent, member] : members_) {
      member.link.work(ignored);
      if (member.link.open()) watched.push_back({member.link.descriptor(), member.link.events(), 0});
    }
    const double left = deadline - monotonic_seconds();
    if (watched.empty() || left <= 0) return;
    ::poll(watched.data(), watched.size(), static_cast<int>(std::ceil(left * 1000)));
  }
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
