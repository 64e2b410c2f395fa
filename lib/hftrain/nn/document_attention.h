// Attention within the documents of packed rows, all of them in one call of LibTorch's flash kernel: a call for each of many short ones
// takes a device longer to be told than to do.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/document_bounds.h"

namespace hftrain::nn {

// Whether the kernel is there for these, as attention() has them: a GPU, float16 or bfloat16, heads whose size it knows, and more
// than single tokens.
bool takes_documents_at_once(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             int64_t longest, const AttentionOptions& options);

// As attention() of a mask with `documents`; same shapes, windows and groups of heads.
at::Tensor attention_within(const DocumentBounds& bounds, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const AttentionOptions& options);

}  // namespace hftrain::nn
