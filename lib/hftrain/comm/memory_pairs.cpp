#include "hftrain/comm/memory_pairs.h"

#include <c10/util/Exception.h>

namespace hftrain::comm {

std::byte* memory_of(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.is_contiguous() && tensor.device().is_cpu() && !tensor.is_sparse(),
                    "this backend moves contiguous tensors of the CPU");
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes());
}

Reducible reducible(const at::Tensor& tensor, const c10d::ReduceOp& op, int world_size) {
  const at::ScalarType type = tensor.scalar_type();
  TORCH_CHECK_VALUE(can_reduce(type), "this backend does not reduce ", type);
  const auto operation = static_cast<c10d::ReduceOp::RedOpType>(op);
  switch (operation) {
    case c10d::ReduceOp::SUM:
      return {type, Combine::kSum};
    case c10d::ReduceOp::AVG:
      TORCH_CHECK_VALUE(at::isFloatingType(type), "an average of integers is not defined");
      return {type, Combine::kSum, 1.0 / world_size};
    case c10d::ReduceOp::PRODUCT:
      return {type, Combine::kProduct};
    case c10d::ReduceOp::MIN:
      return {type, Combine::kMinimum};
    case c10d::ReduceOp::MAX:
      return {type, Combine::kMaximum};
    default:
      TORCH_CHECK_VALUE(false, "this backend does not know this reduction");
  }
}

GatherPair gather_pair(const at::Tensor& output, const at::Tensor& input, int world_size) {
  std::byte* const memory = memory_of(output);
  GatherPair pair{memory_of(input), {}, bytes_of(input)};
  TORCH_CHECK_VALUE(bytes_of(output) == pair.bytes * world_size, "an all-gather of another size");
  for (int rank = 0; rank < world_size; ++rank) pair.parts.push_back(memory + rank * pair.bytes);
  return pair;
}

GatherPair gather_pair(const std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  GatherPair pair{memory_of(input), {}, bytes_of(input)};
  for (const at::Tensor& output : outputs) {
    pair.parts.push_back(memory_of(output));
    TORCH_CHECK_VALUE(bytes_of(output) == pair.bytes, "a gather of tensors of different size");
  }
  return pair;
}

ScatterPair scatter_pair(const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& op,
                         int world_size) {
  TORCH_CHECK_VALUE(input.numel() == output.numel() * world_size, "a reduce-scatter of another size");
  return {memory_of(output), memory_of(input), output.numel(), static_cast<int64_t>(output.element_size()),
          reducible(input, op, world_size)};
}

}  // namespace hftrain::comm
