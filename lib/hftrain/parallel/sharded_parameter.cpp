#include "hftrain/parallel/sharded_parameter.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "hftrain/nn/without_memory.h"
#include "hftrain/parallel/nvme_shard.h"
#include "hftrain/parallel/storage_resize.h"

namespace hftrain::parallel {
namespace {

int64_t bytes_if_any(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
}

at::Tensor shard_memory(int64_t numel, const at::TensorOptions& options, bool pinned) {
  return at::zeros({numel}, options.pinned_memory(pinned));
}

}  // namespace

ShardedParameter::ShardedParameter(const NamedParameter& parameter, const ShardPlacement& placement)
    : name_(parameter.name),
      group_(parameter.group),
      leaf_(parameter.tensor),
      placement_(placement),
      shape_(leaf_.sizes().vec()),
      rows_(leaf_.dim() == 0 ? 1 : leaf_.size(0)),
      row_numel_(leaf_.numel() / std::max<int64_t>(rows_, 1)),
      chunk_rows_((rows_ + placement.parts - 1) / placement.parts),
      local_rows_(std::clamp<int64_t>(rows_ - placement.index * chunk_rows_, 0, chunk_rows_)) {
  const at::NoGradGuard no_grad;
  const at::ScalarType master = leaf_.scalar_type();
  const at::TensorOptions on_device = leaf_.options().requires_grad(false);
  const at::TensorOptions on_master = on_device.device(placement.master_device);
  aliased_ = placement.resident && placement.compute_dtype == master && !placement.apart();
  buffer_ = nn::without_memory({placement.parts * part_numel()}, on_device.dtype(placement.compute_dtype));
  slot_ = nn::part_of(buffer_, placement.index * part_numel(), {part_numel()});
  leaf_.set_data(nn::part_of(buffer_, 0, shape_));  // memory that it had goes
  if (placement.resident) allocate();
  const bool pinned = placement.apart() && !leaf_.device().is_cpu();
  if (!placement.nvme_folder.empty()) {
    shard_ = make_nvme_shard(placement.nvme_folder, part_numel(), master);
  } else {
    shard_ = aliased_ ? slot_ : shard_memory(part_numel(), on_master, pinned);
  }
  std::vector<int64_t> sizes = shape_;
  if (!sizes.empty()) sizes[0] = local_rows_;
  if (sizes.empty() && local_rows_ == 0) sizes = {0};
  local_shard_ = nn::part_of(shard_, shard_.storage_offset(), sizes);
}

std::vector<int64_t> ShardedParameter::offset() const {
  std::vector<int64_t> offset(shape_.size(), 0);
  if (!offset.empty()) offset[0] = std::min(placement_.index * chunk_rows_, rows_);
  return offset;
}

int64_t ShardedParameter::buffer_bytes() const {
  return placement_.parts * part_numel() * static_cast<int64_t>(buffer_.itemsize());
}

void ShardedParameter::expect() {
  ask_for_pages(shard_);
}

void ShardedParameter::allocate() {
  resize_storage(buffer_, static_cast<size_t>(buffer_bytes()));
}

void ShardedParameter::release() {
  if (!placement_.resident) resize_storage(buffer_, 0);
}

bool ShardedParameter::has_slot_apart() const {
  const bool same = shard_.scalar_type() == slot_.scalar_type() && !placement_.apart();
  return !aliased_ && !(same && is_sharded());
}

void fill_slots(const std::vector<ShardedParameter*>& parameters) {
  std::vector<at::Tensor> slots, shards;
  for (const ShardedParameter* parameter : parameters) {
    if (!parameter->has_slot_apart()) continue;
    slots.push_back(parameter->slot());
    shards.push_back(parameter->shard());
  }
  if (slots.empty()) return;
  const at::NoGradGuard no_grad;
  at::_foreach_copy_(slots, shards, /*non_blocking=*/true);
}

void ShardedParameter::keep_gradient() {
  at::Tensor& gradient = leaf_.mutable_grad();
  if (!gradient.defined() || gradient.scalar_type() == at::kFloat) return;
  const at::NoGradGuard no_grad;
  if (kept_gradient_.defined()) {
    kept_gradient_.add_(gradient);
  } else {
    kept_gradient_ = gradient.to(at::kFloat);
  }
  gradient.reset();
}

at::Tensor ShardedParameter::take_gradient() {
  const at::NoGradGuard no_grad;
  if (kept_gradient_.defined()) keep_gradient();
  at::Tensor gradient = kept_gradient_.defined() ? std::exchange(kept_gradient_, {}) : leaf_.grad();
  leaf_.mutable_grad().reset();
  const int64_t numel = rows_ * row_numel_, padded = placement_.parts * part_numel();
  const auto options = buffer_.options().dtype(placement_.reduce_dtype);
  if (!gradient.defined()) return at::zeros({padded}, options);
  const at::Tensor flat = gradient.to(placement_.reduce_dtype).contiguous().view({-1});
  if (numel == padded) return flat;
  at::Tensor filled = at::empty({padded}, options);
  filled.narrow(0, 0, numel).copy_(flat);
  filled.narrow(0, numel, padded - numel).zero_();
  return filled;
}

void ShardedParameter::add_gradient(const at::Tensor& reduced) {
  const at::NoGradGuard no_grad;
  at::Tensor mine = nn::part_of(reduced, reduced.storage_offset(), local_shard_.sizes());
  at::Tensor& gradient = local_shard_.mutable_grad();
  if (placement_.apart()) {
    arriving_gradient_ =
        at::empty(local_shard_.sizes(), local_shard_.options().pinned_memory(!mine.device().is_cpu()));
    placement_.copies->start(arriving_gradient_, mine);
  } else if (gradient.defined()) {
    gradient.add_(mine);
  } else {
    gradient = mine.to(local_shard_.scalar_type());
  }
}

void ShardedParameter::settle_gradient() {
  if (!arriving_gradient_.defined()) return;
  const at::NoGradGuard no_grad;
  const at::Tensor arrived = std::exchange(arriving_gradient_, {});
  at::Tensor& gradient = local_shard_.mutable_grad();
  if (gradient.defined()) {
    gradient.add_(arrived);
  } else {
    gradient = arrived;
  }
}

void ShardedParameter::drop_gradients() {
  local_shard_.mutable_grad().reset();
  leaf_.mutable_grad().reset();
  kept_gradient_.reset();
  arriving_gradient_.reset();
}

int64_t ShardedParameter::parameter_bytes() const {
  const int64_t buffer = placement_.resident ? buffer_bytes() : 0;
  return buffer + (aliased_ || is_on_nvme(shard_) ? 0 : bytes_if_any(shard_));
}

GradientBytes ShardedParameter::gradient_bytes() const {
  const int64_t whole = bytes_if_any(leaf_.grad()) + bytes_if_any(kept_gradient_);
  const int64_t part = bytes_if_any(local_shard_.grad()) + bytes_if_any(arriving_gradient_);
  return placement_.apart() ? GradientBytes{whole, part} : GradientBytes{whole + part, 0};
}

}  // namespace hftrain::parallel
