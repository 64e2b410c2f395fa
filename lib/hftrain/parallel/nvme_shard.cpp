#include "hftrain/parallel/nvme_shard.h"

#include <ATen/ops/empty.h>
#include <c10/core/Storage.h>

#include <memory>
#include <span>

#include "hftrain/storage/scratch_map.h"

namespace hftrain::parallel {
namespace {

void unmap(void* context) {
  delete static_cast<storage::ScratchMap*>(context);
}

// Null for tensors elsewhere.
const storage::ScratchMap* map_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return nullptr;
  return tensor.storage().data_ptr().cast_context<storage::ScratchMap>(&unmap);
}

std::span<const std::byte> span_of(const at::Tensor& dense) {
  return {static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()};
}

}  // namespace

at::Tensor make_nvme_shard(const std::string& directory, int64_t numel, at::ScalarType dtype) {
  const size_t bytes = static_cast<size_t>(numel) * at::elementSize(dtype);
  auto map = std::make_unique<storage::ScratchMap>(directory, bytes);
  std::byte* data = map->data();
  at::DataPtr memory(data, map.release(), &unmap, at::Device(at::kCPU));
  at::Tensor shard = at::empty({0}, at::TensorOptions(dtype));
  shard.set_(at::Storage(at::Storage::use_byte_size_t(), bytes, std::move(memory)), 0, {numel}, {1});
  return shard;
}

bool is_on_nvme(const at::Tensor& tensor) {
  return map_of(tensor) != nullptr;
}

void ask_for_pages(const at::Tensor& part) {
  if (const storage::ScratchMap* map = map_of(part)) map->ask_for(span_of(part));
}

void let_go_of_pages(const at::Tensor& part) {
  if (const storage::ScratchMap* map = map_of(part)) map->let_go(span_of(part));
}

}  // namespace hftrain::parallel
