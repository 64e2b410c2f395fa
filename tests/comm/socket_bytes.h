// What the kernel says that this process has sent: beside what communicator.bytes_sent() counts by formula.
#pragma once

#include <cstdint>

namespace hftrain::testing {

// Bytes that the TCP connections which are open now have sent since they were made, without what was sent
// again.
int64_t bytes_sent_over_sockets();

}  // namespace hftrain::testing
