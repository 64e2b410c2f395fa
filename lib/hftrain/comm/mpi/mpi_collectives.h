// The collectives of the MPI backend: MPI moves bytes, the arithmetic is that of the shared-memory backend.
//
// Sums are formed in the order of ranks, whoever forms them and however the messages are cut, in the
// accumulator of the dtype and rounded once. So an all-reduce and a reduce-scatter of the same numbers agree
// bit for bit, a run over MPI repeats, and it gives the bits of the same run over shared memory, which MPI's
// own reductions do not promise. They cost what MPI's cost. With W ranks and B bytes of the whole tensor a
// rank sends:
//
//   reduce-scatter  B(W-1)/W   its part of every rank's input, straight from there
//   all-gather      B(W-1)/W   in a ring, so that little crosses from machine to machine; short ones straight
//   all-reduce      2B(W-1)/W  one after the other; a short one B(W-1), every rank sums everything
//   broadcast, barrier         MPI_Ibcast, MPI_Ibarrier
//
// Every call is made by all ranks of the group, on the group's MpiThread. Tensors are memory here: the
// backend keeps them alive.
#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hftrain/comm/memory_pairs.h"
#include "hftrain/comm/mpi/mpi_group.h"

namespace hftrain::comm {

class MpiCollectives {
 public:
  explicit MpiCollectives(const BackendRequest& request);
  ~MpiCollectives();

  void all_gather(c10::ArrayRef<GatherPair> pairs);
  void gather(const GatherPair& pair, int root);
  void broadcast(std::byte* data, int64_t bytes, int root);
  void reduce_scatter(c10::ArrayRef<ScatterPair> pairs);
  void all_reduce(std::byte* data, int64_t elements, int64_t element_bytes, const Reducible& how);
  // Part r of the input, of `bytes`, goes to rank r.
  void all_to_all(std::byte* output, const std::byte* input, int64_t bytes);
  void barrier();
  void abort() { group_.abort(); }  // any thread

 private:
  using Transfers = MpiGroup::Transfers;
  struct Block {
    std::byte* data;
    int64_t bytes;
  };
  // A buffer in parts, one for every rank: rank r's is [begins[r], begins[r + 1]) in bytes.
  struct Scatter {
    std::byte* output;  // this rank's part, reduced
    const std::byte* input;
    std::vector<int64_t> begins;
    int64_t element_bytes;
    Reducible how;
    int64_t part_bytes(int rank) const {
      return begins[static_cast<size_t>(rank) + 1] - begins[static_cast<size_t>(rank)];
    }
  };
  // The same stretch of every part; what goes through one slot of each peer.
  struct Step {
    const Scatter* scatter;
    int64_t begin;
    size_t side;  // of the staging memory
  };

  std::vector<int64_t> begins_of_parts(int64_t bytes, int64_t part_bytes) const;
  // The stretch of rank's part that belongs to the step.
  int64_t bytes_of(const Step& step, int rank) const;
  std::byte* slot(const Step& step, int peer) const;
  void scatter(const std::vector<Scatter>& scatters);
  void start(const Step& step, Transfers& transfers) const;
  void reduce(const Step& step) const;
  // Every rank has its own block in place and gets those of the others.
  void spread(const std::vector<Block>& blocks, Transfers& transfers);
  void spread_around(const std::vector<Block>& blocks);
  void all_reduce_short(std::byte* data, int64_t elements, int64_t bytes, const Reducible& how);
  template <typename Visit>
  void for_each_peer(const Visit& visit) const;

  // Memory for what arrives to be summed; made when first needed.
  std::byte* staging();

  MpiGroup group_;
  int64_t slot_bytes_;
  std::unique_ptr<std::byte[]> staging_;
};

}  // namespace hftrain::comm
