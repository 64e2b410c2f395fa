#include "hftrain/models/key_value_cache.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::models {
namespace {

// `old` [R, capacity, K, d] with its first `length` places of the rows `parents` (undefined: all as they are), in room
// for `capacity` places.
at::Tensor with_room(const at::Tensor& old, int64_t length, int64_t capacity, const at::Tensor& parents) {
  const int64_t rows = parents.defined() ? parents.size(0) : old.size(0);
  at::Tensor room = at::empty({rows, capacity, old.size(2), old.size(3)}, old.options());
  const at::Tensor used = old.narrow(1, 0, length);
  room.narrow(1, 0, length).copy_(parents.defined() ? used.index_select(0, parents) : used);
  return room;
}

at::Tensor index_of(std::span<const int64_t> rows, at::Device device) {
  at::Tensor result = at::empty({static_cast<int64_t>(rows.size())}, at::kLong);
  std::ranges::copy(rows, result.mutable_data_ptr<int64_t>());
  return result.to(device);
}

at::Tensor rows_of(const at::Tensor& tensor, const at::Tensor& parents) {
  return tensor.defined() ? tensor.index_select(0, parents) : tensor;
}

}  // namespace

void KeyValueCache::begin(const at::Tensor& ids, const at::Tensor& mask) {
  step_ = ids.size(1);
  if (mask.defined()) {
    if (length_ > 0) throw Error(ExitCode::kInternal, "only a prompt may have padding");
    const at::Tensor read = mask.to(at::kLong).cumsum(1);
    positions_ = (read - 1).clamp_min(0);
    counts_ = read.select(1, -1);
    padding_ = mask;
  } else if (counts_.defined()) {
    positions_ = counts_.unsqueeze(1);
    for (int64_t i = 1; i < step_; ++i) positions_ = at::cat({positions_, (counts_ + i).unsqueeze(1)}, 1);
    counts_ = counts_ + step_;
    padding_ = at::cat({padding_, at::ones({padding_.size(0), step_}, padding_.options())}, 1);
  }
}

void KeyValueCache::end() {
  length_ += step_;
}

void KeyValueCache::forget(int64_t count) {
  length_ -= count;
  if (!counts_.defined()) return;
  counts_ = counts_ - count;
  padding_ = padding_.narrow(1, 0, length_);
}

KeysAndValues& KeyValueCache::layer(std::vector<KeysAndValues>& layers, int64_t index) const {
  const auto place = static_cast<size_t>(index);
  if (layers.size() <= place) layers.resize(place + 1);
  return layers[place];
}

KeysAndValues KeyValueCache::append(int64_t index, const at::Tensor& keys, const at::Tensor& values) {
  KeysAndValues& held = layer(layers_, index);
  const int64_t needed = length_ + step_;
  for (const auto& [room, given] : {std::pair{&held.keys, &keys}, std::pair{&held.values, &values}}) {
    if (!room->defined()) {
      *room = at::empty({given->size(0), std::max(capacity_, needed), given->size(2), given->size(3)},
                        given->options());
    } else if (room->size(1) < needed) {
      *room = with_room(*room, length_, 2 * needed, {});
    }
    room->narrow(1, length_, step_).copy_(*given);
  }
  return {held.keys.narrow(1, 0, needed), held.values.narrow(1, 0, needed)};
}

const KeysAndValues& KeyValueCache::of_encoder(int64_t index, const std::function<KeysAndValues()>& project) {
  KeysAndValues& held = layer(encoder_layers_, index);
  if (!held.keys.defined()) held = project();
  return held;
}

// Of as many rows as before: those that are no more what they were are read, then written.
void KeyValueCache::exchange_rows(std::span<const int64_t> parents) {
  std::vector<int64_t> changed, sources;
  for (size_t row = 0; row < parents.size(); ++row) {
    if (parents[row] == static_cast<int64_t>(row)) continue;
    changed.push_back(static_cast<int64_t>(row));
    sources.push_back(parents[row]);
  }
  if (changed.empty()) return;
  const at::Device device = layers_.front().keys.device();
  const at::Tensor to = index_of(changed, device), from = index_of(sources, device);
  for (KeysAndValues& held : layers_) {
    for (at::Tensor* room : {&held.keys, &held.values}) {
      if (!room->defined()) continue;
      at::Tensor used = room->narrow(1, 0, length_);
      used.index_copy_(0, to, used.index_select(0, from));
    }
  }
}

void KeyValueCache::select(std::span<const int64_t> parents, Parents which) {
  if (layers_.empty()) return;
  const auto rows = static_cast<size_t>(layers_.front().keys.size(0));
  if (parents.size() == rows) exchange_rows(parents);
  if (parents.size() == rows && which == Parents::kSameTexts) return;
  const at::Tensor index = index_of(parents, layers_.front().keys.device());
  for (KeysAndValues& held : layers_) {
    if (!held.keys.defined() || parents.size() == rows) continue;
    held.keys = with_room(held.keys, length_, held.keys.size(1), index);
    held.values = with_room(held.values, length_, held.values.size(1), index);
  }
  for (KeysAndValues& held : encoder_layers_) {
    held.keys = rows_of(held.keys, index);
    held.values = rows_of(held.values, index);
  }
  encoder_padding = rows_of(encoder_padding, index);
  padding_ = rows_of(padding_, index);
  counts_ = rows_of(counts_, index);
}

}  // namespace hftrain::models
