// Addresses of this machine and of the other agents, as the connections between them need them. IPv4 and
// IPv6; numeric texts without a port unless said otherwise.
#pragma once

#include <netdb.h>

#include <string>
#include <vector>

#include "hftrain/base/file.h"

namespace hftrain::launcher {

struct Endpoint {
  std::string host;  // a name or a number
  int port = 0;
};

// "10.0.0.1" of each end of a connected socket; "" when it has none.
std::string local_address_of(int socket);
std::string peer_address_of(int socket);

bool is_loopback(const std::string& address);
// The same of a name: localhost, or such an address.
bool names_loopback(const std::string& host);
// Whether other machines can come to one of these of this machine.
bool any_from_outside(const std::vector<std::string>& addresses);
// Addresses of all interfaces that are up, loopback last.
std::vector<std::string> own_addresses();
// The interface with this address, "eth0"; "" when none has it.
std::string interface_of(const std::string& address);

// A listener on all interfaces; port 0 takes a free one. A port in use is an Error (kEnvironment) that names
// its holder. `flag` is where the port came from.
FileDescriptor listen_everywhere(int port, const std::string& flag);
// One socket for connections to these addresses of this machine and to no other one: the kernel drops those. The tables of
// the kernel show it at all addresses, as it is where none is named. Errors as listen_everywhere().
FileDescriptor listen_by_one_socket(const std::vector<std::string>& addresses, int port,
                                    const std::string& flag);
// A listener at each of these addresses of this machine, all at one port; without an address, everywhere.
// Errors as listen_everywhere().
std::vector<FileDescriptor> listen_at(const std::vector<std::string>& addresses, int port,
                                      const std::string& flag);
// The same at a port of its own choice, which is free at all of them.
std::vector<FileDescriptor> listen_at_one_port(const std::vector<std::string>& addresses,
                                               const std::string& flag);
// Where agent 0 listens when the others look for it under a name with these addresses, and this machine has
// `own` (own_addresses()): those that are its own. A name that leads to none, or to the loopback address
// alone although it is not called localhost (Debian's /etc/hosts), means the machine's first address; then
// there too.
std::vector<std::string> addresses_to_listen_at(const std::string& host,
                                                const std::vector<std::string>& named,
                                                const std::vector<std::string>& own);
int port_of(int socket);

// The addresses of a name or of a number, in the order in which they should be tried. None when it cannot be
// resolved: `why` then says so.
std::vector<std::string> addresses_of(const std::string& host, std::string& why);

// Begins to connect to `target` without waiting, from the address `own` if there is one. "": `socket` can be written to when it is
// connected or has failed; else why there is none.
std::string begin_connect(const addrinfo& target, const addrinfo* own, FileDescriptor& socket);
// How the attempt of a socket that can be written to has ended: "", or why it failed.
std::string connect_failure(int socket);

// Tries every address of the endpoint, each for at most `timeout_seconds`, from `own_address` of this machine
// (empty: as the kernel's routes have it). Nothing when none answers: `why` then says what was tried and how
// each attempt ended.
FileDescriptor connect_to(const Endpoint& endpoint, const std::string& own_address, double timeout_seconds,
                          std::string& why);

}  // namespace hftrain::launcher
