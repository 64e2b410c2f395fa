#include "hftrain/trainer/batch_dispatch.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "comm/rank_processes.h"
#include "support/catch.h"

namespace hftrain::trainer {
namespace {

using testing::Rank;
using testing::RankBody;

// Of a device whose queue nobody may wait for: it knows no operation.
class NoOperations final : public c10d::Backend {
 public:
  NoOperations(int rank, int size) : Backend(rank, size) {}
  const std::string getBackendName() const override { return "none"; }
};

LoadedBatch batch_of(int64_t rank) {
  LoadedBatch batch{.samples = {rank, rank + 10}};
  batch.tensors.input_ids = at::arange(6, at::kLong).view({2, 3}).add(100 * rank);
  batch.tensors.labels = batch.tensors.input_ids;
  return batch;
}

const RankBody kByTheHost("batches go from host to host", [](const Rank& rank) {
  comm::GroupOptions options{.rank = rank.rank(), .world_size = rank.world_size(), .backend = "none"};
  options.store = rank.store();
  options.watched = true;
  const auto communicator = comm::make_communicator(
      options, {{"none", [](const comm::BackendRequest& request) -> c10::intrusive_ptr<c10d::Backend> {
                   return c10::make_intrusive<NoOperations>(request.rank, request.world_size);
                 }}});
  if (rank.rank() == 0) {
    send_batches(*communicator, {batch_of(0), batch_of(1), batch_of(2)}, /*last=*/true);
    send_no_batch(*communicator, /*last=*/false);
    return;
  }
  const ReceivedBatch received = receive_batch(*communicator, /*pin_memory=*/false);
  const LoadedBatch expected = batch_of(rank.rank());
  REQUIRE(received.batch);
  CHECK(received.last);
  CHECK(received.batch->samples == expected.samples);
  CHECK(received.batch->tensors.input_ids.equal(expected.tensors.input_ids));
  CHECK(received.batch->tensors.labels.is_same(received.batch->tensors.input_ids));
  const ReceivedBatch none = receive_batch(*communicator, /*pin_memory=*/false);
  CHECK_FALSE(none.batch);
  CHECK_FALSE(none.last);
});

}  // namespace

TEST_CASE("rank 0 sends each rank its batch without the group of a device", "[process]") {
  testing::require_success(testing::run_ranks("batches go from host to host", 3));
}

}  // namespace hftrain::trainer
