#include "hftrain/report/page_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::report {
namespace {

constexpr size_t kLongestHead = 16 << 10;  // bytes
constexpr size_t kMostConnections = 64;
constexpr double kPatience = 20;  // seconds for a request, and for its reader to take some of the response
constexpr double kWithoutDescriptors = 1;  // seconds

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 500:
      return "Internal Server Error";
    default:
      return "Bad Request";
  }
}

std::string bytes_of(const Answer& answer, bool body) {
  return "HTTP/1.1 " + std::to_string(answer.status) + ' ' + reason_of(answer.status) +
         "\r\nContent-Type: " + answer.type + "\r\nContent-Length: " + std::to_string(answer.body.size()) +
         "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n" +
         (body ? answer.body : "");
}

std::string header_of(const std::vector<std::string>& lines, std::string_view name) {
  for (const std::string& line : lines) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && to_lower(line.substr(0, colon)) == name)
      return trim(line.substr(colon + 1));
  }
  return "";
}

// By its name alone: a tunnel has a port of its own, and the one of the web is left out. What another name leads here, a page of a
// stranger may have asked for.
bool is_this_machine(const std::string& host) {
  const std::string name = to_lower(host.substr(0, host.find(':')));
  return name == "127.0.0.1" || name == "localhost";
}

Answer refusal(int status, std::string words) {
  return {status, "text/plain; charset=utf-8", std::move(words) + '\n'};
}

}  // namespace

std::string response_to(std::string_view head, const std::function<Answer(std::string_view path)>& answer) {
  const std::vector<std::string> lines = split(head, '\n');
  const std::vector<std::string> words = split_words(lines.front());
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) return bytes_of(refusal(400, "not HTTP"), true);
  if (words[0] != "GET" && words[0] != "HEAD") return bytes_of(refusal(405, "only GET and HEAD"), true);
  const bool body = words[0] == "GET";
  if (!is_this_machine(header_of(lines, "host")))
    return bytes_of(refusal(403, "asked for under another name than 127.0.0.1 or localhost"), body);
  const std::string path = words[1].substr(0, words[1].find('?'));
  try {
    return bytes_of(answer(path), body);
  } catch (const std::exception& error) {
    return bytes_of(refusal(500, error.what()), body);
  }
}

PageServer::PageServer(int port) {
  listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), any, size) != 0 || ::listen(listener_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.get(), any, &size) != 0) {
    throw Error(ExitCode::kEnvironment, "nothing can be served on port " + std::to_string(port))
        .where("127.0.0.1")
        .why(std::strerror(errno))
        .hint("name another port, or none for a free one");
  }
  port_ = ntohs(address.sin_port);
}

void PageServer::accept_one() {
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    const bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (full && connections_.empty()) accepts_from_ = monotonic_seconds() + kWithoutDescriptors;
    if (full && !connections_.empty()) connections_.pop_front();
    return;
  }
  if (connections_.size() >= kMostConnections) connections_.pop_front();
  connections_.push_back({.socket = std::move(socket), .since = monotonic_seconds()});
}

bool PageServer::read_from(Connection& connection,
                           const std::function<Answer(std::string_view path)>& answer) const {
  char buffer[4096];
  const ssize_t count = ::recv(connection.socket.get(), buffer, sizeof(buffer), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  connection.request.append(buffer, static_cast<size_t>(count));
  const size_t end = connection.request.find("\r\n\r\n");
  if (end == std::string::npos) return connection.request.size() < kLongestHead;
  connection.response = response_to(std::string_view(connection.request).substr(0, end), answer);
  connection.since = monotonic_seconds();
  return true;
}

bool PageServer::write_to(Connection& connection) {
  const std::string_view left = std::string_view(connection.response).substr(connection.sent);
  const ssize_t count = ::send(connection.socket.get(), left.data(), left.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  connection.sent += static_cast<size_t>(count);
  connection.since = monotonic_seconds();
  return connection.sent < connection.response.size();
}

void PageServer::run(int stop, const std::function<Answer(std::string_view path)>& answer) {
  for (;;) {
    const short accepts = monotonic_seconds() < accepts_from_ ? 0 : POLLIN;
    std::vector<pollfd> watched = {{stop, POLLIN, 0}, {listener_.get(), accepts, 0}};
    for (const Connection& connection : connections_) {
      const short wanted = connection.response.empty() ? POLLIN : POLLOUT;
      watched.push_back({connection.socket.get(), wanted, 0});
    }
    if (::poll(watched.data(), watched.size(), 1000) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    const double now = monotonic_seconds();  // what is read and sent below takes nobody's patience
    size_t place = 2;
    for (auto connection = connections_.begin(); connection != connections_.end(); ++place) {
      const bool late = now - connection->since > kPatience;
      const bool ready = watched[place].revents != 0;
      const bool lives =
          !late &&
          (!ready || (connection->response.empty() ? read_from(*connection, answer) : write_to(*connection)));
      connection = lives ? std::next(connection) : connections_.erase(connection);
    }
    if (watched[1].revents != 0) accept_one();
  }
}

}  // namespace hftrain::report
