// How the launcher starts a worker (plan/worker_protocol.h, generation/text_protocol.h).
#pragma once

#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::worker {

struct Options {
  std::string plan_path;  // empty: it writes texts, and never trains
  int requests_fd = -1;   // without a plan: where requests for texts come from (generation/text_protocol.h)
  int control_fd = -1;    // -1: events are discarded
  int store_fd = -1;      // rank 0: the bound socket of the store
  int status_fd = -1;     // the status page; -1: nobody looks
  int rank = 0;
  int attempt = 0;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  Environment environment{};  // of the process
};

// Throws Error (kUsage) for an unknown option or a missing value: a worker is started by the launcher, not by
// hand.
Options read_options(int argc, char** argv, const Environment& environment);

}  // namespace hftrain::worker
