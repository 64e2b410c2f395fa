#include "hftrain/models/encoder_model.h"

#include <array>
#include <cmath>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"
#include "hftrain/nn/pooler.h"

namespace hftrain::models {
namespace {

using architectures::Head;
using Tensors = std::vector<at::Tensor>;

constexpr std::array kNotRead = {&Batch::pixel_values, &Batch::decoder_input_ids,
                                 &Batch::decoder_attention_mask};
constexpr std::array kNotReadWithoutTypes = {&Batch::token_type_ids, &Batch::pixel_values,
                                             &Batch::decoder_input_ids, &Batch::decoder_attention_mask};

}  // namespace

EncoderModel::EncoderModel(std::shared_ptr<const architectures::Architecture> architecture,
                           const ModelOptions& options)
    : Model(std::move(architecture), options),
      config_(dynamic_cast<const architectures::EncoderArchitecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.activation)),
      head_activation_(config_.head.activation.empty() ? activation_
                                                       : nn::activation_by_name(config_.head.activation)) {
  mark_random();
}

void EncoderModel::mark_random() {
  const bool blocks = config_.dropout > 0 || config_.attended_dropout > 0 || config_.attention_dropout > 0;
  for (nn::Unit& unit : units_) set_random(unit, unit.repeated && blocks);
  set_random(units_.front(), config_.dropout > 0 || options().neftune_alpha > 0);
  set_random(units_.back(), config_.head.dropout > 0);
}

at::Tensor EncoderModel::add_positions(const at::Tensor& x, const at::Tensor& table, const at::Tensor& ids,
                                       const at::Tensor& positions) const {
  const std::optional<int64_t> padding = config_.counts_positions ? config_.padding : std::nullopt;
  if (positions.defined()) return nn::add_position_rows(x, table, positions, padding);
  if (!padding) return nn::add_positions(x, table);
  return nn::add_position_rows(x, table, nn::positions_without_padding(ids, *padding), padding);
}

// Parameters: tokens, positions unless they come last, types where there are any, the norm's weight and bias.
at::Tensor EncoderModel::embed(nn::Parameters p, const at::Tensor& ids, const at::Tensor& types,
                               const at::Tensor& positions) const {
  size_t next = 0;
  const nn::Parameter& tokens = p[next++];
  const at::Tensor& places = config_.positions_after_norm ? p.back() : p[next++];
  at::Tensor x = token_embedding(tokens, ids, config_.padding);
  if (config_.token_types > 0) x = nn::add_token_types(x, p[next++], types);
  x = add_positions(x, places, ids, positions);
  x = nn::layer_norm(x, p[next], p[next + 1], config_.layer_norm_eps);
  return nn::dropout(x, active(config_.dropout));
}

// Weights and biases of query, key and value.
at::Tensor EncoderModel::attention(nn::Parameters p, const at::Tensor& x, const at::Tensor& padding,
                                   bool first_only) const {
  const int64_t heads = config_.heads, head_dim = config_.hidden_size / heads;
  Tensors projected = attention_inputs(x, {p[0], p[2], p[4]}, {p[1], p[3], p[5]}, first_only);
  for (at::Tensor& one : projected) one = one.view({one.size(0), one.size(1), heads, head_dim});
  const nn::AttentionOptions attention =
      attention_options(1.0 / std::sqrt(static_cast<double>(head_dim)), config_.attention_dropout);
  return nn::attention(projected[0], projected[1], projected[2], {.padding = padding}, attention);
}

at::Tensor EncoderModel::project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                                 const at::Tensor& bias, double dropout) const {
  const double p = active(dropout);
  if (p == 0) return nn::linear_add(residual, x, weight, bias, options().kernels.rest, products());
  return nn::add_dropout(residual, nn::linear(x, weight, bias, products()), p);
}

// Parameters: query, key, value, the attention's output, its norm; inner and outer layer, their norm.
at::Tensor EncoderModel::block(nn::Parameters p, const at::Tensor& x, const at::Tensor& padding,
                               bool first_only) const {
  const double eps = config_.layer_norm_eps;
  const at::Tensor seen = attention(p.slice(0, 6), x, padding, first_only);
  const at::Tensor residual = first_only ? x.narrow(1, 0, 1) : x;
  const at::Tensor attended =
      nn::layer_norm(project(residual, seen, p[6], p[7], config_.attended_dropout), p[8], p[9], eps);
  const at::Tensor inner =
      nn::activate(activation_, nn::linear(attended, p[10], p[11], products()), options().kernels.rest);
  return nn::layer_norm(project(attended, inner, p[12], p[13], config_.dropout), p[14], p[15], eps);
}

// Parameters: the vocabulary's bias, here or at the end; the transform and its norm; the vocabulary's matrix, which
// comes last when it is tied, and with a bias of its own when it is not.
HeadOutput EncoderModel::masked_lm(nn::Parameters p, const at::Tensor& x) const {
  const size_t first = config_.head.bias_first ? 1 : 0;
  const at::Tensor inner = nn::linear(x, p[first], p[first + 1], products());
  HeadOutput out{.kernels = options().kernels.loss, .products = products()};
  out.hidden = nn::layer_norm(nn::activate(head_activation_, inner, options().kernels.rest), p[first + 2],
                              p[first + 3], config_.layer_norm_eps);
  const nn::Parameters rest = p.slice(first + 4);
  if (config_.tie_word_embeddings) {
    out.weight = nn::matrix_of_head(x, rest.back());
    out.bias = first == 1 ? p[0] : rest[0];
    return out;
  }
  out.weight = nn::matrix_of_head(x, rest[0]);
  // The first bias has no effect then; times zero it gets a gradient of zero like any other parameter's.
  out.bias = first == 1 ? rest[1].base() + p[0].base() * 0 : rest[1].base();
  return out;
}

at::Tensor EncoderModel::pooled(nn::Parameters p, const at::Tensor& x) const {
  const bool drops = config_.head.drops_first_too;
  return nn::pool_first_token(drops ? nn::dropout(x.narrow(1, 0, 1), active(config_.head.dropout)) : x, p[0],
                              p[1], head_activation_);
}

HeadOutput EncoderModel::head(nn::Parameters p, const at::Tensor& x) const {
  const Head kind = architecture().head();
  if (kind == Head::kMaskedLm) return masked_lm(p, x);
  const bool pools = kind == Head::kSequenceClassification;
  const nn::Parameters last = p.slice(pools ? 2 : 0);
  return {.hidden = nn::dropout(pools ? pooled(p, x) : x, active(config_.head.dropout)),
          .weight = last[0],
          .bias = last[1],
          .kernels = options().kernels.loss,
          .products = products()};
}

Output EncoderModel::forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) {
  if (config_.token_types > 0) {
    check_columns(batch, kNotRead);
  } else {
    check_columns(batch, kNotReadWithoutTypes);
  }
  Tensors x = run(runner, units().front(), {batch.input_ids, batch.token_type_ids, batch.position_ids},
                  [this](nn::Parameters parameters, at::TensorList in) {
                    return Tensors{embed(parameters, in[0], in[1], in[2])};
                  });
  const bool pools = architecture().head() == Head::kSequenceClassification;
  const at::Tensor padding = mask_that_hides(batch, &Batch::attention_mask);
  for (size_t i = 1; i + 1 < units().size(); ++i) {
    const bool first_only = pools && is_seen_at_first_only(i);
    x = run(runner, units()[i], {x[0], padding},
            [this, first_only](nn::Parameters parameters, at::TensorList in) {
              return Tensors{block(parameters, in[0], in[1], first_only)};
            });
  }
  const Tensors result =
      run(runner, units().back(), x, [this, objective](nn::Parameters parameters, at::TensorList in) {
        Output output = objective(head(parameters, in[0]));
        return Tensors{std::move(output.loss), std::move(output.logits)};
      });
  return {result[0], result[1]};
}

}  // namespace hftrain::models
