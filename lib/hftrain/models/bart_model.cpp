#include "hftrain/models/bart_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>

#include <cmath>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"

namespace hftrain::models {

using architectures::BartConfig;
using architectures::BartStack;

BartModel::BartModel(std::shared_ptr<const architectures::Architecture> architecture,
                     const ModelOptions& options)
    : EncoderDecoderModel(
          architecture, options,
          dynamic_cast<const architectures::BartArchitecture&>(*architecture).config().encoder.layers),
      config_(dynamic_cast<const architectures::BartArchitecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.activation)) {
  const bool blocks = config_.dropout > 0 || config_.attention_dropout > 0 ||
                      config_.activation_dropout > 0 || config_.encoder.layerdrop > 0 ||
                      config_.decoder.layerdrop > 0;
  draws_random(config_.dropout > 0, blocks, config_.classifier_dropout > 0);
}

at::Tensor BartModel::embed_at_positions(const nn::Parameter& tokens, nn::Parameters p, const at::Tensor& ids,
                                         int64_t first) const {
  const double scale = config_.scale_embedding ? std::sqrt(static_cast<double>(config_.d_model)) : 1;
  const at::Tensor x = nn::add_positions(token_embedding(tokens, ids, architecture().pad_token_id(), scale),
                                         p[0], BartConfig::kPositionOffset + first);
  return nn::dropout(nn::layer_norm(x, p[1], p[2], BartConfig::kNormEpsilon), active(config_.dropout));
}

// Parameters: the tokens' embedding, then what embed_at_positions takes.
at::Tensor BartModel::embed(nn::Parameters parameters, const at::Tensor& ids) const {
  return embed_at_positions(parameters[0], parameters.slice(1), ids, 0);
}

EncoderDecoderModel::DecoderEntry BartModel::enter_decoder(nn::Parameters parameters, const at::Tensor& x,
                                                           const at::Tensor& ids) const {
  return {x.defined() ? x.view_as(x) : x,
          embed_at_positions(parameters[3], parameters.slice(0, 3), ids, past())};
}

at::Tensor BartModel::add_and_norm(const at::Tensor& residual, const at::Tensor& x,
                                   const nn::Parameter& weight, const at::Tensor& bias,
                                   nn::Parameters norm) const {
  const double p = active(config_.dropout);
  const at::Tensor sum = p == 0
                             ? nn::linear_add(residual, x, weight, bias, options().kernels.rest, products())
                             : nn::add_dropout(residual, nn::linear(x, weight, bias, products()), p);
  return nn::layer_norm(sum, norm[0], norm[1], BartConfig::kNormEpsilon);
}

at::Tensor BartModel::heads(const BartStack& stack, const at::Tensor& projected) const {
  const int64_t heads = stack.attention_heads;
  return projected.view({projected.size(0), projected.size(1), heads, config_.d_model / heads});
}

nn::AttentionOptions BartModel::options_of(const BartStack& stack) const {
  const int64_t size = config_.d_model / stack.attention_heads;
  return attention_options(1 / std::sqrt(static_cast<double>(size)), config_.attention_dropout);
}

at::Tensor BartModel::attend_itself(Stack which, int64_t layer, nn::Parameters p, const at::Tensor& x,
                                    const at::Tensor& padding) const {
  const BartStack& stack = which == Stack::kDecoder ? config_.decoder : config_.encoder;
  const std::vector<at::Tensor> projected =
      nn::linear_many(x, {p[0], p[2], p[4]}, {p[1], p[3], p[5]}, options().kernels.rest, products());
  const at::Tensor key = heads(stack, projected[0]), value = heads(stack, projected[1]),
                   query = heads(stack, projected[2]);
  const nn::AttentionOptions options = options_of(stack);
  const at::Tensor attended =
      which == Stack::kDecoder
          ? attend_back(layer, query, key, value, {.causal = true, .padding = padding, .bias = {}}, options)
          : nn::attention(query, key, value, {.causal = false, .padding = padding, .bias = {}}, options);
  return add_and_norm(x, attended, p[6], p[7], p.slice(8, 2));
}

at::Tensor BartModel::attend_encoder(int64_t layer, nn::Parameters p, const at::Tensor& x,
                                     const BlockInputs& in) const {
  const BartStack& stack = config_.decoder;
  const KeysAndValues of_encoder = attend_to_encoder(layer, [&]() -> KeysAndValues {
    const std::vector<at::Tensor> both =
        nn::linear_many(in.encoded, {p[0], p[2]}, {p[1], p[3]}, options().kernels.rest, products());
    return {heads(stack, both[0]), heads(stack, both[1])};
  });
  const at::Tensor attended =
      nn::attention(heads(stack, nn::linear(x, p[4], p[5], products())), of_encoder.keys, of_encoder.values,
                    {.causal = false, .padding = in.encoded_padding, .bias = {}}, options_of(stack));
  return add_and_norm(x, attended, p[6], p[7], p.slice(8, 2));
}

// Parameters: weight and bias of fc1, fc2 and the norm.
at::Tensor BartModel::feed_forward(nn::Parameters p, const at::Tensor& x) const {
  const at::Tensor inner =
      nn::activate(activation_, nn::linear(x, p[0], p[1], products()), options().kernels.rest);
  return add_and_norm(x, nn::dropout(inner, active(config_.activation_dropout)), p[2], p[3], p.slice(4, 2));
}

// One number of the CPU's generator a block, as transformers draws it.
bool BartModel::drops_layer(double layerdrop) const {
  return active(layerdrop) > 0 && at::rand({}).item<double>() < layerdrop;
}

BlockOutputs BartModel::block(Stack which, int64_t layer, nn::Parameters p, const BlockInputs& in) const {
  const bool decodes = which == Stack::kDecoder;
  const BartStack& stack = decodes ? config_.decoder : config_.encoder;
  if (drops_layer(stack.layerdrop)) return {in.x.view_as(in.x), {}};
  constexpr size_t kAttention = 10;  // parameters
  at::Tensor x = attend_itself(which, layer, p.slice(0, kAttention), in.x, in.padding);
  if (decodes) {
    p = p.slice(kAttention);
    x = attend_encoder(layer, p.slice(0, kAttention), x, in);
  }
  x = feed_forward(p.slice(kAttention), x);
  return {decodes ? x : kept_finite(x), {}};
}

// Parameters: of a language model the bias of its outputs and the tied matrix; of a classification of rows its dense
// layer; the head's matrix and bias.
HeadOutput BartModel::head(nn::Parameters p, const at::Tensor& x) const {
  HeadOutput out{.hidden = x, .kernels = options().kernels.loss, .products = products()};
  if (architecture().head() == architectures::Head::kSeq2SeqLm) {
    out.weight = nn::matrix_of_head(x, p[1]);
    out.bias = p[0].base().view({-1});
    return out;
  }
  if (architecture().head() == architectures::Head::kSequenceClassification) {
    const double drop = active(config_.classifier_dropout);
    out.hidden = nn::dropout(nn::linear(nn::dropout(x, drop), p[0], p[1], products()).tanh(), drop);
  }
  out.weight = p[p.size() - 2];
  out.bias = p.back();
  return out;
}

}  // namespace hftrain::models
