// Which connections a listening socket takes, by the address that they are meant for: the kernel drops all others before
// anything is made of them. For a listener that has to be one socket and yet serves several addresses of a machine.
#pragma once

#include <string>
#include <vector>

namespace hftrain::launcher {

// To be called before `socket`, of IPv4 or of both, listens at all addresses. Numeric ones. False, with errno, when the kernel
// takes no such filter or one of them is no address.
bool take_only_for(int socket, const std::vector<std::string>& addresses);

}  // namespace hftrain::launcher
