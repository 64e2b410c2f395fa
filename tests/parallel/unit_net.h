// A small net of units with everything that makes sharding hard: odd and uneven row counts, a scalar, a tied
// weight, a frozen table, vectors.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "hftrain/nn/unit_runner.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::testing {

class UnitNet {
 public:
  static constexpr int64_t kVocabulary = 13, kWidth = 8, kInner = 7, kLayers = 3;

  explicit UnitNet(uint64_t seed);

  parallel::ParameterList list() const;
  // Embeddings (token table, frozen table), blocks (scalar gain, weight, bias, weight), head (norm gain; the
  // token table is tied).
  const std::vector<nn::Unit>& units() const { return units_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  // One unit of the plan per unit of the model, the tied table in the first; or all parameters in one.
  std::vector<plan::UnitPlan> plan_units(bool reshard) const;
  std::vector<plan::UnitPlan> one_unit(bool reshard) const;
  int64_t numel() const;

  // Mean cross-entropy of predicting the next of `ids` [B, T] at each place. Maths in `dtype`.
  at::Tensor loss(const at::Tensor& ids, nn::UnitRunner& runner, at::ScalarType dtype = at::kFloat) const;
  // From now on the first block has a second output, which every later block takes beside the first, as the
  // blocks of a decoder take the encoder's states.
  void share_memory() { shares_memory_ = true; }
  // The same, and nothing else comes of the first block; `drops`: on this rank the later ones are passed over.
  void encode(bool drops) { shares_memory_ = encodes_ = true, drops_later_ = drops; }
  // Nothing learns before the first block; `drops`: on this rank that one is passed over.
  void freeze_table(bool drops) {
    parameters_.front().requires_grad_(false);
    drops_first_ = drops;
  }

 private:
  void add(const std::string& name, const at::Tensor& values, bool trainable = true);

  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<nn::Unit> units_;
  bool shares_memory_ = false, encodes_ = false, drops_later_ = false, drops_first_ = false;
};

// `rows` sequences of 9 tokens.
at::Tensor token_batch(int64_t rows, uint64_t seed);

}  // namespace hftrain::testing
