#include "hftrain/nn/document_bounds.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

#include "hftrain/base/error.h"

namespace hftrain::nn {

DocumentBounds bounds_of(const std::vector<int64_t>& documents, at::Device device) {
  DocumentBounds bounds;
  const at::Tensor starts = at::empty({static_cast<int64_t>(documents.size()) + 1},
                                      at::TensorOptions().dtype(at::kInt).pinned_memory(device.is_cuda()));
  auto* next = starts.data_ptr<int32_t>();
  int64_t end = 0;
  *next++ = 0;
  for (const int64_t length : documents) {
    end += length;
    if (end > std::numeric_limits<int32_t>::max())
      throw Error(ExitCode::kInternal, "a batch has more tokens than an int32 counts")
          .where("attention within documents")
          .why("its kernel counts so")
          .hint("a smaller --per_device_train_batch_size");
    *next++ = static_cast<int32_t>(end);
    bounds.longest = std::max(bounds.longest, length);
  }
  bounds.starts = starts.to(device, /*non_blocking=*/true);
  return bounds;
}

}  // namespace hftrain::nn
