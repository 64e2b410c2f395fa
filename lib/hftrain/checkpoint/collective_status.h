// Failures of work that all ranks do together: each keeps its own as a value until the others know of it, so
// that nobody is left waiting in a collective operation.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/comm/communicator.h"

namespace hftrain::checkpoint {

// What another rank could not do.
class PeerFailure : public Error {
 public:
  PeerFailure(ExitCode code, int rank, const std::string& task)
      : Error(code, "rank " + std::to_string(rank) + " could not " + task), rank_(rank) {}
  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

// What `work` threw. A lost peer is no failure of this rank's part and is thrown on.
std::optional<Error> attempt(const std::function<void()>& work);

// Collective. Throws on every rank when any failed: its own error, or a PeerFailure with the exit code of the
// first.
void check_collective_status(comm::Communicator& communicator, const std::optional<Error>& local,
                             const std::string& task);

}  // namespace hftrain::checkpoint
