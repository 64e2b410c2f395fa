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

void KeyValueCache::select(const at::Tensor& parents) {
  for (KeysAndValues& held : layers_) {
    if (!held.keys.defined()) continue;
    held.keys = with_room(held.keys, length_, held.keys.size(1), parents);
    held.values = with_room(held.values, length_, held.values.size(1), parents);
  }
  for (KeysAndValues& held : encoder_layers_) {
    held.keys = rows_of(held.keys, parents);
    held.values = rows_of(held.values, parents);
  }
  encoder_padding = rows_of(encoder_padding, parents);
  padding_ = rows_of(padding_, parents);
  counts_ = rows_of(counts_, parents);
}

}  // namespace hftrain::models
