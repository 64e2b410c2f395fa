// Master weights on NVMe: ordinary host tensors whose memory is a scratch file. Whoever has used one lets its
// pages go again, so that resident memory holds only the weights that are in use.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace hftrain::parallel {

// `numel` zeros in a file of their own in `directory`, which lives as long as the tensor's storage. Errors as
// storage::ScratchMap's.
at::Tensor make_nvme_shard(const std::string& directory, int64_t numel, at::ScalarType dtype);
bool is_on_nvme(const at::Tensor& tensor);
// Of the numbers that a dense tensor shows; no-op for tensors in memory. Any thread.
void ask_for_pages(const at::Tensor& part);
void let_go_of_pages(const at::Tensor& part);

}  // namespace hftrain::parallel
