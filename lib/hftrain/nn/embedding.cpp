#include "hftrain/nn/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/nn/module_observer.h"

namespace hftrain::nn {
namespace {

void require_positions(int64_t needed, const at::Tensor& table, int64_t first) {
  if (needed <= table.size(0)) return;
  throw Error(ExitCode::kData,
              "a sequence of " + std::to_string(needed - first) + " tokens is too long for the model")
      .why("it has " + std::to_string(table.size(0) - first) + " positions")
      .hint(
          "shorter sequences, by the flag of the task that limits them: --block_size, --max_length, "
          "--max_seq_length, "
          "--max_source_length or --max_target_length");
}

}  // namespace

at::Tensor embed_tokens(const at::Tensor& table, const at::Tensor& ids, std::optional<int64_t> padding) {
  return observed("Embedding", {table}, {ids}, at::embedding(table, ids, padding.value_or(-1)));
}

at::Tensor add_positions(const at::Tensor& x, const at::Tensor& table, int64_t first) {
  const int64_t length = x.size(1);
  require_positions(first + length, table, first);
  return observed("Embedding", {table}, {x}, x + table.narrow(0, first, length));
}

at::Tensor positions_without_padding(const at::Tensor& ids, int64_t padding) {
  const at::Tensor token = (ids != padding).to(at::kLong);
  return token.cumsum(1) * token + padding;
}

at::Tensor add_position_rows(const at::Tensor& x, const at::Tensor& table, const at::Tensor& positions,
                             std::optional<int64_t> padding) {
  if (positions.is_cpu() && positions.numel() > 0) {
    const int64_t first = padding ? *padding + 1 : 0;  // rows that no token can have
    require_positions(positions.max().item<int64_t>() + 1, table, first);
  }
  return observed("Embedding", {table}, {positions, x},
                  x + at::embedding(table, positions, padding.value_or(-1)));
}

at::Tensor add_token_types(const at::Tensor& x, const at::Tensor& table, const at::Tensor& types) {
  if (!types.defined()) return x + table.select(0, 0);
  if (types.is_cpu() && types.numel() > 0) {
    const int64_t highest = types.max().item<int64_t>(), lowest = types.min().item<int64_t>();
    if (lowest < 0 || highest >= table.size(0)) {
      throw Error(ExitCode::kData,
                  "token type " + std::to_string(lowest < 0 ? lowest : highest) + " is out of range")
          .why("the model has " + std::to_string(table.size(0)) + " token types")
          .hint("use the tokenizer that belongs to the model");
    }
  }
  return x + at::embedding(table, types);
}

at::Tensor sinusoids(int64_t positions, int64_t columns) {
  const at::Tensor column = at::arange(columns, at::kLong), odd = column.remainder(2);
  const at::Tensor powers = (column - odd).to(at::kDouble) / static_cast<double>(columns);
  const at::Tensor angles = at::arange(positions, at::kDouble).unsqueeze(1) / at::pow(10000.0, powers);
  return at::where(odd == 0, angles.sin(), angles.cos()).to(at::kFloat);
}

at::Tensor add_neftune_noise(const at::Tensor& x, double alpha) {
  const double bound = alpha / std::sqrt(static_cast<double>(x.size(1) * x.size(2)));
  return x + at::empty_like(x).uniform_(-bound, bound);
}

}  // namespace hftrain::nn
