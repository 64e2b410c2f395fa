// Collectives between CPU ranks over TCP: LibTorch's ProcessGroupGloo.
#pragma once

#include "hftrain/comm/backend_table.h"

namespace hftrain::comm {

// Connects to all other ranks before it returns: over the loopback interface when all are on this machine,
// otherwise over the interfaces of the request, or the one that leads to rank 0. Error(kEnvironment) for an
// interface that is not there. Peers that do not come within the deadline: an exception of LibTorch. SIGPIPE is
// ignored from here on where it was left to its default.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const BackendRequest& request);

}  // namespace hftrain::comm
