#include "hftrain/comm/local_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"

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

std::string numeric(const sockaddr* address) {
  const socklen_t size = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  char text[NI_MAXHOST];
  return ::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

// Addresses of this machine's interfaces that are up, with their names; those of IPv4 first.
std::vector<std::pair<std::string, std::string>> named_addresses() {
  std::vector<std::pair<std::string, std::string>> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
      const bool fits = each->ifa_addr != nullptr && each->ifa_addr->sa_family == family;
      if (fits && (each->ifa_flags & IFF_UP) != 0)
        found.emplace_back(each->ifa_name, numeric(each->ifa_addr));
    }
  }
  return found;
}

void refuse_empty_names(const std::string& names) {
  std::vector<std::string> parts = split(names, ',');
  const size_t all = parts.size();
  std::erase_if(parts, [](const std::string& part) { return trim(part).empty(); });
  if (parts.size() == all) return;
  throw Error(ExitCode::kUsage, "a name is missing in the list of network interfaces")
      .where("GLOO_SOCKET_IFNAME=" + names)
      .why("commas join whole names, and beside one of them there is none")
      .hint(parts.empty() ? "the name of an interface, or leave the variable out"
                          : "GLOO_SOCKET_IFNAME=" + join(parts, ","));
}

}  // namespace

std::vector<std::string> addresses_of_interfaces(const std::string& names) {
  refuse_empty_names(names);
  const auto own = named_addresses();
  std::vector<std::string> addresses;
  for (const std::string& part : split(names, ',')) {
    const std::string name = trim(part);
    const auto found =
        std::find_if(own.begin(), own.end(), [&](const auto& each) { return each.first == name; });
    if (found != own.end()) {
      addresses.push_back(found->second);
      continue;
    }
    std::vector<std::string> there;
    for (const auto& [other, address] : own) there.push_back(other + " (" + address + ')');
    const bool silent = ::if_nametoindex(name.c_str()) != 0;
    throw Error(ExitCode::kEnvironment,
                silent ? "the network interface '" + name + "' is down, or has no address"
                       : "there is no network interface '" + name + "' to talk to other nodes by")
        .where("GLOO_SOCKET_IFNAME=" + names)
        .why("this machine has " + join(there, ", "))
        .hint(
            "the whole name of one of these (^ and = are for NCCL), or leave the variable out: the interface "
            "that leads to rank 0 is taken then");
  }
  return addresses;
}

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
