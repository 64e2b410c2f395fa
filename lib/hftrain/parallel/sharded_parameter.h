// One parameter cut by rows among the ranks of a group.
//
// Of R rows, rank r of W holds [r·c, (r + 1)·c) with c = ceil(R / W); the last ranks may hold fewer or none.
// The parts of all ranks, one after the other, are the parameter itself with rows added at its end. So the
// model's leaf is a view of the start of a buffer of W·c rows into which an all-gather writes directly, and
// its gradient can be reduce-scattered as it is when W divides R.
//
//   buffer (dtype of the forward pass)   | slot 0 | slot 1 | ... | slot W-1 |     leaf = its first R rows
//   shard (dtype of the master weights)             | rows |                      local_shard() = its rows that exist
//
// The leaf keeps its identity: only the memory of the buffer comes and goes. Where the dtypes agree and the
// buffer stays, the shard is the slot itself, unless it lies apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "hftrain/parallel/host_copies.h"
#include "hftrain/parallel/strategy.h"

namespace hftrain::parallel {

// How a parameter is held.
struct ShardPlacement {
  int parts = 1;                              // W; 1: every rank holds it whole
  int index = 0;                              // r
  at::ScalarType compute_dtype = at::kFloat;  // of the buffer
  at::ScalarType reduce_dtype = at::kFloat;   // of gradients on their way between ranks
  at::Device master_device = at::kCPU;        // of shard, gradient and optimizer state
  // Offloaded: they share no memory with the buffer, and gradients come by these copies, which outlive the
  // parameter. Null: they do not.
  HostCopies* copies = nullptr;
  bool resident = false;    // the buffer is never freed
  std::string nvme_folder;  // of the shard's file; empty: in memory

  bool apart() const { return copies != nullptr; }
};

// Of a parameter or of all of them. Offloaded ones are in two memories, which are full at different moments.
struct GradientBytes {
  int64_t here = 0;   // with the leaf
  int64_t apart = 0;  // with master weights that lie apart
};

// Not thread-safe. No autograd in any of the functions.
class ShardedParameter {
 public:
  // The leaf, which needs no memory of its own (nn/without_memory.h), becomes a view of the buffer; unless resident that
  // has none yet. Values are lost.
  ShardedParameter(const NamedParameter& parameter, const ShardPlacement& placement);

  const std::string& name() const { return name_; }
  size_t group() const { return group_; }
  const at::Tensor& leaf() const { return leaf_; }
  bool trainable() const { return leaf_.requires_grad(); }
  const ShardPlacement& placement() const { return placement_; }
  bool is_sharded() const { return placement_.parts > 1; }
  // False when every write to local_shard() is at once a write to the leaf.
  bool needs_gather() const { return is_sharded() || !aliased_; }

  // Sizes of the whole parameter; where local_shard() lies in it, one number per dimension.
  const std::vector<int64_t>& shape() const { return shape_; }
  std::vector<int64_t> offset() const;
  // This rank's rows as master weights; without elements on a rank that has none. Its .grad() is what the
  // optimizer reads.
  const at::Tensor& local_shard() const { return local_shard_; }
  // The same with the rows that fill it up to c, flat.
  const at::Tensor& shard() const { return shard_; }

  // Gathering: allocate, fill_slots, all-gather gather_input() into buffer(). A buffer in one part is complete without the last.
  int64_t buffer_bytes() const;
  void expect();  // of a shard on NVMe: reading begins
  void allocate();
  void release();  // frees the buffer unless it is resident
  const at::Tensor& buffer() const { return buffer_; }
  // Whether the shard is copied into the buffer first: it has another dtype or lies on another device.
  bool has_slot_apart() const;
  const at::Tensor& slot() const { return slot_; }
  const at::Tensor& gather_input() const { return has_slot_apart() ? slot_ : shard_; }

  // Puts a leaf's gradient of a narrow type aside as float32, added to what is there: for gradients that are
  // reduced only after several passes.
  void keep_gradient();
  // The whole gradient with rows up to W·c, flat, in the dtype of reductions; zeros if the leaf has none. The
  // leaf's gradient is gone afterwards.
  at::Tensor take_gradient();
  // Adds this rank's part (c rows, flat) of the reduced gradient to local_shard().grad(); may keep the tensor. An
  // offloaded one is on its way after that, and counts when settle_gradient() is called after the copies' mark.
  void add_gradient(const at::Tensor& reduced);
  void settle_gradient();
  void drop_gradients();

  int64_t parameter_bytes() const;       // that stay between two uses
  GradientBytes gradient_bytes() const;  // at this moment

 private:
  int64_t part_numel() const { return chunk_rows_ * row_numel_; }

  std::string name_;
  size_t group_;
  at::Tensor leaf_;
  ShardPlacement placement_;
  std::vector<int64_t> shape_;
  int64_t rows_, row_numel_, chunk_rows_, local_rows_;
  bool aliased_;
  at::Tensor buffer_, slot_, shard_, local_shard_;
  at::Tensor kept_gradient_;      // whole, float32
  at::Tensor arriving_gradient_;  // this rank's part, on its way to the host
};

// Copies shards to their slots where these lie apart, with one operation for all, which a GPU takes as one or few kernels.
void fill_slots(const std::vector<ShardedParameter*>& parameters);

}  // namespace hftrain::parallel
