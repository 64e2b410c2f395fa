// The collectives of the shared-memory backend, as they run: copies through segments of bounded size.
//
// Every rank's segment has two sides. While the peers read one, the owner fills the other, so that writing,
// reading and arithmetic of a large message overlap and its parts are still in the cache when they are read.
// A step is what goes through one side. With W ranks and B bytes a rank moves:
//
//   all-gather        writes its B/W, reads B(W-1)/W                             2 events per step
//   reduce-scatter    writes what is not its own, reads its part of the others'  2 events
//   all-reduce        both, part by part of a step                               3 events
//
// Sums are formed in the order of ranks, whoever forms them, so that an all-reduce and a reduce-scatter of
// the same numbers agree bit for bit on all ranks, however a model is cut into messages. An average scales
// every element by 1/W before the sum, as LibTorch's Reducer does with its buckets.
//
// Every call is made by all ranks of the group. Tensors are memory here: the backend keeps them alive.
#pragma once

#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>

#include "hftrain/comm/memory_pairs.h"
#include "hftrain/comm/shm_group.h"

namespace hftrain::comm {

class ShmCollectives {
 public:
  // A side of a segment; a step of any operation fits into it.
  static constexpr size_t kSideBytes = size_t{1} << 20;

  explicit ShmCollectives(const BackendRequest& request);

  void all_gather(c10::ArrayRef<GatherPair> pairs);
  void gather(const GatherPair& pair, int root);
  void broadcast(std::byte* data, int64_t bytes, int root);
  void reduce_scatter(c10::ArrayRef<ScatterPair> pairs);
  void all_reduce(std::byte* data, int64_t elements, int64_t element_bytes, const Reducible& how);
  // Part r of the input, of `bytes`, goes to rank r.
  void all_to_all(std::byte* output, const std::byte* input, int64_t bytes);
  void barrier();
  void abort() { group_.abort(); }

 private:
  enum class Kind : uint32_t { kGather = 1, kRooted, kScatter, kReduce, kExchange, kBarrier };
  struct Signature {  // at the start of a side: what its contents belong to
    Kind kind;
    uint32_t steps;
    int64_t bytes;
    bool operator==(const Signature&) const = default;
  };
  struct Area {
    std::byte* data;
    Signature* signature;
  };
  struct Step {
    size_t index;
    int side;
    ShmGroup::Event filled;
  };

  Area filling(int rank, int side) const;
  std::byte* results(int rank, int side) const;
  // Fills this rank's side when its readers have left it. Returns the event of that.
  template <typename Fill>
  ShmGroup::Event fill_side(int side, bool writes, const Signature& signature, const Fill& fill);
  // The side of a peer once it is filled.
  const std::byte* side_of(int rank, const Step& step, const Signature& signature);
  // fill(step index, memory) and read(Step), overlapped; `writes`: whether this rank fills anything.
  template <typename Fill, typename Read>
  void stream(size_t steps, bool writes, const Signature& signature, const Fill& fill, const Read& read);
  void all_reduce_small(std::byte* data, int64_t elements, int64_t bytes, const Reducible& how);
  // Calls visit(rank) for the others, beginning with the next: so that not all read from one.
  template <typename Visit>
  void for_each_peer(const Visit& visit) const;

  ShmGroup group_;
  int side_ = 0;                               // the next to be filled
  ShmGroup::Event readers_left_[2] = {0, 0};   // when nobody reads the side any more
  ShmGroup::Event results_taken_[2] = {0, 0};  // the same for its results
};

}  // namespace hftrain::comm
