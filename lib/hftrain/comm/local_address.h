// Which of this machine's addresses the other nodes can reach it at.
#pragma once

#include <string>

namespace hftrain::comm {

// The address this machine uses for packets to `host` (a name or an address), as the kernel's routes have it.
// Asking sends nothing. kEnvironment if `host` cannot be resolved or there is no route.
std::string local_address_towards(const std::string& host);

}  // namespace hftrain::comm
