// How a group is left: politely when the work is done, at once when something has failed.
#include <ATen/ops/zeros.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "hftrain/comm/communicator.h"
#include "support/catch.h"

namespace hftrain::comm {
namespace {

// As NCCL's: shutting down waits for all ranks.
class SlowToLeave final : public c10d::Backend {
 public:
  struct Calls {
    int aborts = 0, shutdowns = 0;
  };

  explicit SlowToLeave(Calls& calls) : Backend(/*rank=*/0, /*size=*/2), calls_(calls) {}
  const std::string getBackendName() const override { return "slow to leave"; }
  void abort() override { ++calls_.aborts; }
  void shutdown() override { ++calls_.shutdowns; }

 private:
  Calls& calls_;
};

Communicator group_of(SlowToLeave::Calls& calls) {
  BackendRequest request;
  request.world_size = 2;
  request.store = c10::make_intrusive<c10d::HashStore>();
  request.members = {0, 1};
  return Communicator(std::move(request),
                      [&](const BackendRequest&) { return c10::make_intrusive<SlowToLeave>(calls); });
}

}  // namespace

TEST_CASE("a group is left politely when the work is done, even while a failure is dealt with") {
  SlowToLeave::Calls calls;
  try {
    throw std::runtime_error("of something else");
  } catch (const std::runtime_error&) {
    const Communicator communicator = group_of(calls);
  }
  CHECK(calls.shutdowns == 1);
  CHECK(calls.aborts == 0);
}

TEST_CASE("a failure that unwinds a group aborts it: nobody waits for ranks that wait for this one") {
  SlowToLeave::Calls calls;
  try {
    const Communicator communicator = group_of(calls);
    throw std::runtime_error("a full disk");
  } catch (const std::runtime_error&) {
  }
  CHECK(calls.aborts == 1);
  CHECK(calls.shutdowns == 0);
}

}  // namespace hftrain::comm
