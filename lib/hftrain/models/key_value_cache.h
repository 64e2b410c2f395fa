// What a model remembers of the texts that it is writing: the keys and values of every place that it has read, so that
// a step computes its new tokens only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace hftrain::models {

struct KeysAndValues {
  at::Tensor keys, values;  // [R, S, K, d]
};

// R rows (texts); places are counted from the left, padding included, which may stand before a prompt and nowhere else.
// Used by one thread, without gradients.
class KeyValueCache {
 public:
  // Room for that many places from the start; more is made as they come.
  explicit KeyValueCache(int64_t capacity) : capacity_(capacity) {}

  // Places that all rows have read.
  int64_t length() const noexcept { return length_; }
  // A step begins: ids [R, T] to be read, with their mask [R, T] (1: a token, 0: padding; undefined: all are tokens).
  // Padding is taken in the first step only; in another it is an internal Error.
  void begin(const at::Tensor& ids, const at::Tensor& mask);
  // The step is done: its places are part of length().
  void end();
  // The last `count` places are as if they had not been read. Not of the first step.
  void forget(int64_t count);

  // Within a step. Positions of its tokens, padding not counted, int64 [R, T]; undefined where no mask was given: then
  // they are length() … length() + T − 1 in each.
  const at::Tensor& positions() const noexcept { return positions_; }
  // Of all places and those of the step, [R, length() + T]; undefined: no mask was given.
  const at::Tensor& padding() const noexcept { return padding_; }
  // Remembers [R, T, K, d] of a layer; gives all that it has, [R, length() + T, K, d].
  KeysAndValues append(int64_t layer, const at::Tensor& keys, const at::Tensor& values);
  // A decoder's keys and values of what its encoder made: `project` is called once for each layer.
  const KeysAndValues& of_encoder(int64_t layer, const std::function<KeysAndValues()>& project);
  // [R, S] as a mask, or undefined; set in the first step.
  at::Tensor encoder_padding;

  // Row i becomes what row parents[i] (R' of them) was. With kSameTexts every row's parent has its prompt, as beams of one
  // prompt do among each other: what the encoder gave and where padding stands is left as it is.
  enum class Parents { kAnyText, kSameTexts };
  void select(std::span<const int64_t> parents, Parents which = Parents::kAnyText);

 private:
  void exchange_rows(std::span<const int64_t> parents);
  KeysAndValues& layer(std::vector<KeysAndValues>& layers, int64_t index) const;

  int64_t capacity_, length_ = 0, step_ = 0;
  at::Tensor positions_, padding_;
  at::Tensor counts_;  // tokens read by each row, int64 [R]; undefined: no mask was given
  std::vector<KeysAndValues> layers_, encoder_layers_;
};

}  // namespace hftrain::models
