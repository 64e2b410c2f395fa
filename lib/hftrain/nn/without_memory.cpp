#include "hftrain/nn/without_memory.h"

#include <ATen/ops/empty.h>

namespace hftrain::nn {

at::Tensor without_memory(at::IntArrayRef sizes, const at::TensorOptions& options) {
  at::Tensor tensor = at::empty({0}, options);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

at::Tensor part_of(const at::Tensor& whole, int64_t offset, at::IntArrayRef sizes) {
  at::Tensor part = at::empty({0}, whole.options().requires_grad(false));
  c10::TensorImpl* shape = part.unsafeGetTensorImpl();
  shape->set_storage_keep_dtype(whole.storage());
  shape->set_storage_offset(offset);
  shape->set_sizes_contiguous(sizes);
  return part;
}

}  // namespace hftrain::nn
