#include "hftrain/models/vit_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <array>
#include <cmath>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"

namespace hftrain::models {
namespace {

// [B, channels, height, width] → [B, patches, channels·p·p], row by row; what does not fill a patch is left out. A
// convolution whose stride is its size is a product with these.
at::Tensor patches_of(const at::Tensor& pixels, const architectures::VitConfig& config) {
  const int64_t high = config.patch_height, wide = config.patch_width;
  const int64_t rows = config.image_height / high, columns = config.image_width / wide;
  const at::Tensor whole = pixels.narrow(2, 0, rows * high).narrow(3, 0, columns * wide);
  const at::Tensor split = whole.reshape({pixels.size(0), config.num_channels, rows, high, columns, wide});
  return split.permute({0, 2, 4, 1, 3, 5})
      .reshape({pixels.size(0), rows * columns, config.num_channels * high * wide});
}

std::string sizes_text(int64_t channels, int64_t height, int64_t width) {
  return std::to_string(channels) + " channels of " + std::to_string(height) + " by " + std::to_string(width);
}

}  // namespace

VitModel::VitModel(std::shared_ptr<const architectures::Architecture> architecture,
                   const ModelOptions& options)
    : Model(std::move(architecture), options),
      config_(dynamic_cast<const architectures::VitArchitecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.hidden_act)) {
  const bool hidden = config_.hidden_dropout_prob > 0, weights = config_.attention_probs_dropout_prob > 0;
  for (nn::Unit& unit : units_) set_random(unit, unit.repeated && (hidden || weights));
  set_random(units_.front(), hidden || options.neftune_alpha > 0);
}

// Parameters: class token; positions; projection weight, bias.
at::Tensor VitModel::embed(nn::Parameters p, const at::Tensor& pixels) const {
  const at::Tensor patches = patches_of(pixels.to(options().compute_dtype), config_);
  at::Tensor embedded = nn::linear(patches, p[2].base().flatten(1), p[3], products());
  // The module that the Trainer's hook hangs on is the projection.
  const double alpha = active(this->options().neftune_alpha);
  if (alpha > 0) embedded = nn::add_neftune_noise(embedded, alpha);
  const at::Tensor x = at::cat({p[0].base().expand({pixels.size(0), -1, -1}), embedded}, 1) + p[1].base();
  return nn::dropout(x, active(config_.hidden_dropout_prob));
}

at::Tensor VitModel::attention(at::TensorList projections) const {
  const nn::AttentionOptions attention = attention_options(
      1.0 / std::sqrt(static_cast<double>(config_.head_dim)), config_.attention_probs_dropout_prob);
  const auto heads = [&](const at::Tensor& x) {
    return x.view({x.size(0), x.size(1), config_.num_attention_heads, config_.head_dim});
  };
  return nn::attention(heads(projections[0]), heads(projections[1]), heads(projections[2]), {}, attention);
}

at::Tensor VitModel::project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                             const at::Tensor& bias) const {
  const double p = active(config_.hidden_dropout_prob);
  if (p == 0) return nn::linear_add(residual, x, weight, bias, options().kernels.rest, products());
  return nn::add_dropout(residual, nn::linear(x, weight, bias, products()), p);
}

// Parameters: query, key and value, each with its bias if there are any; output; norm before; norm after; MLP in; out.
at::Tensor VitModel::block(nn::Parameters p, const at::Tensor& x, bool first_only) const {
  const double eps = config_.layer_norm_eps;
  const size_t step = config_.qkv_bias ? 2 : 1;
  std::vector<nn::Parameter> weights;
  std::vector<at::Tensor> biases;
  for (size_t i = 0; i < 3; ++i) {
    weights.push_back(p[i * step]);
    biases.push_back(config_.qkv_bias ? p[i * step + 1] : nn::Parameter());
  }
  p = p.slice(3 * step);
  const at::Tensor normed = nn::layer_norm(x, p[2], p[3], eps);
  const at::Tensor seen = attention(attention_inputs(normed, weights, biases, first_only));
  const at::Tensor attended = project(first_only ? x.narrow(1, 0, 1) : x, seen, p[0], p[1]);
  const at::Tensor inner = nn::linear(nn::layer_norm(attended, p[4], p[5], eps), p[6], p[7], products());
  return project(attended, nn::activate(activation_, inner, options().kernels.rest), p[8], p[9]);
}

// Parameters: norm weight, bias; classifier weight, bias. The norm looks at each token alone, and only the class token
// is asked for.
HeadOutput VitModel::head(nn::Parameters p, const at::Tensor& x) const {
  return {.hidden = nn::layer_norm(x.select(1, 0), p[0], p[1], config_.layer_norm_eps),
          .weight = p[2],
          .bias = p[3],
          .kernels = options().kernels.loss,
          .products = products()};
}

void VitModel::check(const Batch& batch) const {
  constexpr std::array kNotTaken = {&Batch::input_ids,         &Batch::attention_mask,
                                    &Batch::token_type_ids,    &Batch::position_ids,
                                    &Batch::decoder_input_ids, &Batch::decoder_attention_mask,
                                    &Batch::start_positions,   &Batch::end_positions};
  check_columns(batch, kNotTaken);
  const at::Tensor& pixels = batch.pixel_values;
  if (pixels.size(1) == config_.num_channels && pixels.size(2) == config_.image_height &&
      pixels.size(3) == config_.image_width)
    return;
  throw Error(ExitCode::kData, "the images of a batch have another size than the model's")
      .where("pixel_values")
      .why("they have " + sizes_text(pixels.size(1), pixels.size(2), pixels.size(3)) +
           ", the model looks at " +
           sizes_text(config_.num_channels, config_.image_height, config_.image_width))
      .hint("a preprocessor_config.json whose size is the config's image_size");
}

Output VitModel::forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) {
  using Tensors = std::vector<at::Tensor>;
  check(batch);
  Tensors x = run(runner, units().front(), {batch.pixel_values},
                  [this](nn::Parameters p, at::TensorList in) { return Tensors{embed(p, in[0])}; });
  for (size_t i = 1; i + 1 < units().size(); ++i) {
    const bool first_only = is_seen_at_first_only(i);
    x = run(runner, units()[i], x, [this, first_only](nn::Parameters p, at::TensorList in) {
      return Tensors{block(p, in[0], first_only)};
    });
  }
  const Tensors result =
      run(runner, units().back(), x, [this, objective](nn::Parameters p, at::TensorList in) {
        Output output = objective(head(p, in[0]));
        return Tensors{std::move(output.loss), std::move(output.logits)};
      });
  return {result[0], result[1]};
}

}  // namespace hftrain::models
