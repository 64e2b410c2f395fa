// Which of this machine's addresses the other nodes can reach it at.
#pragma once

#include <string>
#include <vector>

namespace hftrain::comm {

// The address this machine uses for packets to `host` (a name or an address), as the kernel's routes have it.
// Asking sends nothing. kEnvironment if `host` cannot be resolved or there is no route.
std::string local_address_towards(const std::string& host);

// Of the interfaces that `names` lists, joined by commas (GLOO_SOCKET_IFNAME): an address of each, of IPv4 where
// it has one. kEnvironment for one that this machine does not have, or that has no address.
std::vector<std::string> addresses_of_interfaces(const std::string& names);

}  // namespace hftrain::comm
