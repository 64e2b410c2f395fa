// Parts of tensors, as a strategy shows them, to and from files. Saved parts follow the sharded layout that
// torch.distributed.checkpoint reads: any strategy and any number of ranks reads what any other wrote,
// because a part is looked up by name, offset and shape.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/storage/box.h"
#include "hftrain/storage/dtype.h"

namespace hftrain::checkpoint {

// "<parameter>" or "<parameter>.<state>".
std::string stored_name(const parallel::StatePart& part);
// Where a part lies in the whole. Scalars are stored as one number: consolidators of the layout lose tensors
// without dims.
storage::Box stored_box(const parallel::StatePart& part);
std::vector<int64_t> stored_shape(const parallel::StatePart& part);  // of the whole

// Fills `target` (any dtype and device) with numbers of type `stored`, whose bytes `read` puts where it is
// told: straight into the target when it can take them as they are.
void fill(const at::Tensor& target, storage::DType stored, const std::function<void(std::span<char>)>& read);

// Shows parts to a visitor: Strategy::visit_parameters or visit_optimizer_state.
using PartSource = std::function<void(const parallel::StateVisitor&, parallel::Access)>;

// Bytes of the parts that a checkpoint takes from this rank.
uint64_t saved_bytes(const PartSource& visit);
// Hands the parts that a checkpoint takes from this rank to files in `folder`, one part at a time; no file
// when there are none. The source is visited once more for every dtype.
void save_parts(const PartSource& visit, const std::string& folder, int rank, SaveTarget& target);

}  // namespace hftrain::checkpoint
