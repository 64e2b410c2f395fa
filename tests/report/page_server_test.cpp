#include "hftrain/report/page_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::report {
namespace {

Answer echo(std::string_view path) {
  if (path == "/broken") throw Error(ExitCode::kData, "no such run");
  return {200, "text/html", "at " + std::string(path)};
}

std::string status_of(const std::string& head) {
  const std::string response = response_to(head, echo);
  return response.substr(0, response.find('\r'));
}

const std::string kHost = "\r\nHost: 127.0.0.1:8321\r\n";

FileDescriptor unconnected() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

void connect(const FileDescriptor& socket, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
}

FileDescriptor connect_to(int port) {
  FileDescriptor socket = unconnected();
  connect(socket, port);
  return socket;
}

std::string all_of(const FileDescriptor& socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::recv(socket.get(), buffer, sizeof(buffer), 0)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

TEST_CASE("only this machine's names are answered, and only reading", "[report]") {
  CHECK(status_of("GET / HTTP/1.1" + kHost) == "HTTP/1.1 200 OK");
  CHECK(status_of("GET / HTTP/1.1\r\nhost:  localhost:8321\r\n") == "HTTP/1.1 200 OK");
  CHECK(status_of("GET / HTTP/1.1\r\nHost: LOCALHOST\r\n") == "HTTP/1.1 200 OK");
  CHECK(status_of("GET / HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n") == "HTTP/1.1 200 OK");
  CHECK(status_of("GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(status_of("GET / HTTP/1.1\r\nHost: evil.example:8321\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(status_of("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:8321\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(status_of("GET / HTTP/1.1\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(status_of("POST / HTTP/1.1" + kHost) == "HTTP/1.1 405 Method Not Allowed");
  CHECK(status_of("\x16\x03\x01") == "HTTP/1.1 400 Bad Request");
  CHECK(status_of("GET /broken HTTP/1.1" + kHost) == "HTTP/1.1 500 Internal Server Error");
  CHECK(response_to("GET /a?b=c HTTP/1.1" + kHost, echo).ends_with("\r\n\r\nat /a"));
  CHECK(response_to("HEAD /a HTTP/1.1" + kHost, echo).ends_with("\r\n\r\n"));
}

TEST_CASE("a client that says nothing holds up nobody else", "[report]") {
  PageServer server(0);
  const FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  const std::string large(3'000'000, 'x');
  std::thread serving([&] {
    server.run(stop.get(), [&](std::string_view) { return Answer{200, "text/plain", large}; });
  });
  std::vector<FileDescriptor> mute;
  for (int i = 0; i < 100; ++i) mute.push_back(connect_to(server.port()));
  const FileDescriptor client = connect_to(server.port());
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost:" + std::to_string(server.port()) + "\r\n";
  CHECK(::send(client.get(), request.data(), request.size(), 0) > 0);  // in two pieces
  CHECK(::send(client.get(), "\r\n", 2, 0) == 2);
  CHECK(all_of(client).ends_with(large));
  const uint64_t one = 1;
  CHECK(::write(stop.get(), &one, sizeof(one)) == sizeof(one));
  serving.join();
}

// Lets the process open nothing more while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit few = before_;
    few.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int copy = 0; (copy = ::dup(0)) >= 0;) copies_.emplace_back(copy);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<FileDescriptor> copies_;
};

TEST_CASE("where no descriptor is left the oldest connection makes room", "[report]") {
  PageServer server(0);
  const FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  std::thread serving([&] { server.run(stop.get(), echo); });
  const std::string request =
      "GET /a HTTP/1.1\r\nHost: localhost:" + std::to_string(server.port()) + "\r\n\r\n";
  const auto ask = [&](const FileDescriptor& client) {
    CHECK(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
    return all_of(client);
  };
  const FileDescriptor mute = connect_to(server.port());
  CHECK(ask(connect_to(server.port())).ends_with("at /a"));  // so the one before it has been taken, too
  const FileDescriptor client = unconnected();
  const timeval patience{60, 0};
  CHECK(::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
  std::string answer;
  {
    const NoDescriptors none;
    connect(client, server.port());
    answer = ask(client);
  }
  CHECK(answer.ends_with("at /a"));
  const uint64_t one = 1;
  CHECK(::write(stop.get(), &one, sizeof(one)) == sizeof(one));
  serving.join();
}

TEST_CASE("a port that is taken is named", "[report]") {
  const PageServer first(0);
  try {
    const PageServer second(first.port());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(std::string(error.what()) == "nothing can be served on port " + std::to_string(first.port()));
  }
}

}  // namespace
}  // namespace hftrain::report
