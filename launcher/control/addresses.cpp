#include "launcher/control/addresses.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/control/destination_filter.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/rendezvous.h"

namespace hftrain::launcher {
namespace {

socklen_t size_of(const sockaddr* address) {
  return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::string text_of(const sockaddr* address) {
  char host[NI_MAXHOST];
  if (::getnameinfo(address, size_of(address), host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  const std::string text = host;
  // A dual-stack socket shows an IPv4 peer in its IPv6 form.
  const std::string mapped = "::ffff:";
  return text.rfind(mapped, 0) == 0 ? text.substr(mapped.size()) : text;
}

using NameFunction = int (*)(int, sockaddr*, socklen_t*);
std::string address_by(NameFunction ask, int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  return ask(socket, address, &size) == 0 ? text_of(address) : "";
}

// Calls `visit` for each address of each interface that is up.
void for_each_address(const std::function<void(const ifaddrs&, const std::string&)>& visit) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string text = text_of(entry->ifa_addr);
    // A link-local IPv6 address means something only together with an interface.
    if (!text.empty() && text.rfind("fe80:", 0) != 0) visit(*entry, text);
  }
}

bool bind_and_listen(int socket, const sockaddr* address) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return ::bind(socket, address, size_of(address)) == 0 && ::listen(socket, SOMAXCONN) == 0;
}

// At an address with its port; an IPv6 one that stands for all takes IPv4 too. With `only`, connections to those addresses.
FileDescriptor listen_on(const sockaddr* address, const std::vector<std::string>& only = {}) {
  FileDescriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  const int off = 0;
  if (address->sa_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (!only.empty() && !take_only_for(socket.get(), only)) return {};
  return bind_and_listen(socket.get(), address) ? std::move(socket) : FileDescriptor();
}

FileDescriptor listen_on_both(int port, const std::vector<std::string>& only) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  return listen_on(reinterpret_cast<sockaddr*>(&any), only);
}

FileDescriptor listen_on_ipv4(int port, const std::vector<std::string>& only) {
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  return listen_on(reinterpret_cast<sockaddr*>(&any), only);
}

// "" when it is connected.
std::string try_to_connect(const addrinfo& target, const addrinfo* own, double timeout_seconds,
                           FileDescriptor& socket) {
  std::string failure = begin_connect(target, own, socket);
  if (!failure.empty()) return failure;
  if (!answers_within(socket.get(), POLLOUT, timeout_seconds)) {
    return "no answer in " + format_duration(timeout_seconds);
  }
  return connect_failure(socket.get());
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const Endpoint& endpoint, std::string& why) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status =
      ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &wanted, &found);
  if (status != 0) {
    why = "the name " + endpoint.host + " cannot be resolved (" +
          (status == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(status)) + ")";
    found = nullptr;
  }
  return {found, &::freeaddrinfo};
}

}  // namespace

std::string begin_connect(const addrinfo& target, const addrinfo* own, FileDescriptor& socket) {
  socket.reset(::socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return std::strerror(errno);
  if (own != nullptr && ::bind(socket.get(), own->ai_addr, own->ai_addrlen) != 0)
    return "from " + text_of(own->ai_addr) + ": " + std::strerror(errno);
  const bool begun = ::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0 || errno == EINPROGRESS;
  return begun ? "" : std::strerror(errno);
}

std::string connect_failure(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1";
}

bool names_loopback(const std::string& host) {
  return host == "localhost" || is_loopback(host);
}

bool any_from_outside(const std::vector<std::string>& addresses) {
  return !std::all_of(addresses.begin(), addresses.end(), is_loopback);
}

std::string local_address_of(int socket) {
  return address_by(::getsockname, socket);
}

std::string peer_address_of(int socket) {
  return address_by(::getpeername, socket);
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> outside, loopback;
  for_each_address([&](const ifaddrs& entry, const std::string& text) {
    const bool numbers_first = entry.ifa_addr->sa_family == AF_INET;
    std::vector<std::string>& list = (entry.ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outside;
    list.insert(numbers_first ? list.begin() : list.end(), text);
  });
  outside.insert(outside.end(), loopback.begin(), loopback.end());
  return outside;
}

std::string interface_of(const std::string& address) {
  std::string name;
  for_each_address([&](const ifaddrs& entry, const std::string& text) {
    if (text == address && name.empty()) name = entry.ifa_name;
  });
  return name;
}

FileDescriptor listen_everywhere(int port, const std::string& flag) {
  return listen_by_one_socket({}, port, flag);
}

FileDescriptor listen_by_one_socket(const std::vector<std::string>& addresses, int port,
                                    const std::string& flag) {
  FileDescriptor socket = listen_on_both(port, addresses);
  if (!socket) socket = listen_on_ipv4(port, addresses);
  if (socket) return socket;
  throw cannot_listen(port, errno, flag);
}

int port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  const auto* address = reinterpret_cast<const sockaddr_in6*>(&storage);  // the port is at the same place
  return ntohs(address->sin6_port);
}

std::vector<std::string> addresses_of(const std::string& host, std::string& why) {
  const AddressList found = resolve({host, 0}, why);
  std::vector<std::string> texts;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next)
    texts.push_back(text_of(each->ai_addr));
  return texts;
}

std::vector<FileDescriptor> listen_at(const std::vector<std::string>& addresses, int port,
                                      const std::string& flag) {
  std::vector<FileDescriptor> listeners;
  if (addresses.empty()) listeners.push_back(listen_everywhere(port, flag));
  for (const std::string& address : addresses) {
    std::string why;
    const AddressList found = resolve({address, port}, why);
    if (found == nullptr) {
      throw Error(ExitCode::kEnvironment, "this machine cannot listen at " + address)
          .where(flag)
          .why(why)
          .hint("an address of this machine: " + join(own_addresses(), ", "));
    }
    FileDescriptor listener = listen_on(found->ai_addr);
    if (!listener && errno == EADDRNOTAVAIL) {
      throw Error(ExitCode::kEnvironment, "this machine cannot listen at " + address)
          .where(flag)
          .why("it has " + join(own_addresses(), ", "))
          .hint("--local_addr with one of these");
    }
    if (!listener) throw cannot_listen(port, errno, flag);
    port = port_of(listener.get());
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

std::vector<FileDescriptor> listen_at_one_port(const std::vector<std::string>& addresses,
                                               const std::string& flag) {
  constexpr int kTries = 20;  // one that is free at the first address may be taken at another
  for (int i = 1;; ++i) {
    try {
      return listen_at(addresses, 0, flag);
    } catch (const Error&) {
      if (i == kTries || addresses.size() < 2) throw;
    }
  }
}

std::vector<std::string> addresses_to_listen_at(const std::string& host,
                                                const std::vector<std::string>& named,
                                                const std::vector<std::string>& own) {
  std::vector<std::string> chosen;
  for (const std::string& address : named) {
    const bool is_own = is_loopback(address) || std::find(own.begin(), own.end(), address) != own.end();
    if (!is_own || std::find(chosen.begin(), chosen.end(), address) != chosen.end()) continue;
    chosen.push_back(address);
  }
  const bool means_loopback = names_loopback(host);
  if (!any_from_outside(chosen) && !means_loopback && !own.empty() &&
      std::find(chosen.begin(), chosen.end(), own.front()) == chosen.end())
    chosen.push_back(own.front());
  return chosen;
}

FileDescriptor connect_to(const Endpoint& endpoint, const std::string& own_address, double timeout_seconds,
                          std::string& why) {
  const AddressList own =
      own_address.empty() ? AddressList(nullptr, &::freeaddrinfo) : resolve({own_address, 0}, why);
  if (own == nullptr && !own_address.empty()) return {};
  const AddressList found = resolve(endpoint, why);
  if (found == nullptr) return {};
  std::vector<std::string> attempts;
  for (const addrinfo* target = found.get(); target != nullptr; target = target->ai_next) {
    FileDescriptor socket;
    const std::string failure = try_to_connect(*target, own.get(), timeout_seconds, socket);
    if (failure.empty()) return socket;
    attempts.push_back(text_of(target->ai_addr) + " port " + std::to_string(endpoint.port) + ": " + failure);
  }
  why = join(attempts, "; ");
  return {};
}

}  // namespace hftrain::launcher
