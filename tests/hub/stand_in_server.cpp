#include "hub/stand_in_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "hftrain/base/text.h"
#include "support/catch.h"

namespace hftrain::testing {
namespace {

constexpr int kMillisecondsOfALook = 20;

// Head and body.
std::string read_request(int connection) {
  std::string text;
  std::array<char, 4096> buffer{};
  size_t wanted = std::string::npos;
  while (text.size() < wanted) {
    const ssize_t got = ::read(connection, buffer.data(), buffer.size());
    if (got <= 0) return "";
    text.append(buffer.data(), static_cast<size_t>(got));
    const size_t head = text.find("\r\n\r\n");
    if (head == std::string::npos || wanted != std::string::npos) continue;
    const size_t length = to_lower(text).find("content-length:");
    wanted = head + 4 + (length < head ? std::strtoul(text.c_str() + length + 15, nullptr, 10) : 0);
  }
  return text;
}

}  // namespace

StandInServer::StandInServer(Answer answer)
    : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::listen(socket_.get(), 16) == 0);
  REQUIRE(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

StandInServer::~StandInServer() {
  over_ = true;
  thread_.join();
}

void StandInServer::serve() {
  while (!over_) {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, kMillisecondsOfALook) <= 0) continue;
    const FileDescriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string request = read_request(connection.get());
    if (request.empty()) continue;
    ++requests_;
    answer_(connection.get(), request);
  }
}

bool StandInServer::write(int connection, const std::string& bytes) {
  return ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

void StandInServer::say(int connection, int status, const std::string& body) {
  write(connection, "HTTP/1.1 " + std::to_string(status) + " X\r\nConnection: close\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
}

void StandInServer::say_nothing(int connection) {
  char byte = 0;
  while (::recv(connection, &byte, 1, 0) > 0) continue;
}

}  // namespace hftrain::testing
