// The address at which the ranks of a job find each other. The launcher binds it before any worker starts and
// hands the listening socket to rank 0, so nobody can take the port in between.
#pragma once

#include <set>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::launcher {

struct Rendezvous {
  std::string address = "127.0.0.1";
  int port = 0;
  FileDescriptor listener;  // bound and listening; closed on exec, so it is inherited only where asked for
};

// Binds `port` on the loopback address; 0 takes a free one. A port in use is an Error (kEnvironment) that
// names the process holding it where /proc tells.
Rendezvous bind_rendezvous(int port = 0);
// A free port for ranks on several machines, which are told these addresses, each one of them (at least one): open there and
// nowhere else.
Rendezvous bind_rendezvous_at(const std::set<std::string>& addresses);

// Error(kEnvironment): nothing leads to the loopback address, as in a network namespace whose loopback interface is down.
void require_loopback();

// Whether anybody listens on this port of this machine, at whatever address.
bool is_listened_at(int port);
// "pid 4242 (some command)" for the process listening on a local TCP port; empty when it cannot be seen.
std::string port_holder(int port);
// The error of a port that cannot be listened on; `flag` is where it came from. Port 0: there is none that is free.
Error cannot_listen(int port, int error_number, const std::string& flag);

}  // namespace hftrain::launcher
