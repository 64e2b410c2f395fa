#include "hftrain/comm/local_address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::comm {
namespace {

Error unreachable(const std::string& host, const char* why) {
  return Error(ExitCode::kEnvironment, "cannot find the way to rank 0's machine")
      .where(host)
      .why(why)
      .hint("check --main_process_ip and the name service");
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), "9", &wanted, &found);
  if (status != 0) throw unreachable(host, ::gai_strerror(status));
  return {found, &::freeaddrinfo};
}

}  // namespace

std::string local_address_towards(const std::string& host) {
  const AddressList addresses = resolve(host);
  const FileDescriptor socket(::socket(addresses->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // Connecting a datagram socket only looks up the route.
  if (::connect(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    throw unreachable(host, std::strerror(errno));
  }
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length);
  char text[NI_MAXHOST];
  const int status = ::getnameinfo(reinterpret_cast<sockaddr*>(&local), length, text, sizeof text, nullptr, 0,
                                   NI_NUMERICHOST);
  if (status != 0) throw unreachable(host, ::gai_strerror(status));
  return text;
}

}  // namespace hftrain::comm
