#include "hftrain/models/encoder_decoder_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>

#include <array>
#include <limits>

#include "hftrain/base/error.h"
#include "hftrain/nn/loss.h"

namespace hftrain::models {
namespace {

using architectures::Head;

constexpr std::array kNotTakenByStacks = {&Batch::token_type_ids, &Batch::position_ids, &Batch::pixel_values};

Error no_token(const std::string& key, const std::string& why) {
  return Error(ExitCode::kData, "the model's config has no " + key)
      .where("config.json")
      .why(why)
      .hint("give " + key + " in config.json, or from scratch by --config_overrides " + key + "=ID");
}

// ids [B, T] → `start` and all but the last of them; what does not count becomes `pad`.
at::Tensor shifted_right(const at::Tensor& ids, int64_t start, int64_t pad) {
  at::Tensor shifted = at::full_like(ids, start, at::MemoryFormat::Contiguous);
  const int64_t length = ids.size(1);
  shifted.narrow(1, 1, length - 1).copy_(ids.narrow(1, 0, length - 1));
  return shifted.masked_fill_(shifted == nn::kIgnoreIndex, pad);
}

}  // namespace

EncoderDecoderModel::EncoderDecoderModel(std::shared_ptr<const architectures::Architecture> architecture,
                                         const ModelOptions& options, int64_t encoder_layers)
    : Model(std::move(architecture), options), encoder_layers_(encoder_layers) {}

void EncoderDecoderModel::draws_random(bool embeddings, bool blocks, bool head) {
  const bool embeds_random = embeddings || options().neftune_alpha > 0;
  for (nn::Unit& unit : units_) set_random(unit, unit.repeated ? blocks : embeds_random);
  set_random(units_.back(), head);
}

at::Tensor EncoderDecoderModel::kept_finite(const at::Tensor& x) {
  if (x.scalar_type() != at::kHalf) return x;
  constexpr double kRoom = 1000;
  const double most = std::numeric_limits<at::Half>::max();
  const at::Tensor bound = at::where(x.isinf().any(), most - kRoom, most).to(at::kHalf);
  return at::clamp(x, -bound, bound);
}

at::Tensor EncoderDecoderModel::decoder_ids(const Batch& batch) const {
  if (batch.decoder_input_ids.defined()) return batch.decoder_input_ids;
  const auto start = architecture().decoder_start_token_id(), pad = architecture().pad_token_id();
  if (!start) throw no_token("decoder_start_token_id", "what the decoder reads begins with it");
  if (!pad) throw no_token("pad_token_id", "the decoder reads it where a label does not count");
  const bool speaks = architecture().head() == Head::kSeq2SeqLm;
  if (speaks && !batch.labels.defined())
    throw Error(ExitCode::kInternal, "a batch has neither labels nor decoder_input_ids");
  return shifted_right(speaks ? batch.labels : batch.input_ids, *start, *pad);
}

at::Tensor EncoderDecoderModel::last_ends(const Batch& batch) const {
  if (architecture().head() != Head::kSequenceClassification) return {};
  const auto end = architecture().eos_token_id();
  if (!end) throw no_token("eos_token_id", "rows are classified by the last end of a text");
  const at::Tensor is_end = (batch.input_ids == *end).to(at::kLong);
  const at::Tensor counts = (on_host(batch).input_ids == *end).sum(1);
  const int64_t least = counts.min().item<int64_t>(), most = counts.max().item<int64_t>();
  if (least < 1 || least != most) {
    throw Error(ExitCode::kData, "the rows of a batch have different numbers of ends of text")
        .where("token " + std::to_string(*end) + " (eos_token_id) in input_ids")
        .why("rows are classified by the last one; a row has " + std::to_string(least) + ", another " +
             std::to_string(most))
        .hint("a tokenizer that ends every text with it, and a larger --max_seq_length where texts are cut");
  }
  return (at::arange(is_end.size(1), is_end.options()) * is_end).argmax(1);
}

at::Tensor EncoderDecoderModel::run_stack(Stack stack, size_t first_unit, BlockInputs in,
                                          nn::UnitRunner& runner) const {
  const int64_t layers =
      stack == Stack::kEncoder ? encoder_layers_ : architecture().layers() - encoder_layers_;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::vector<at::Tensor> out =
        run(runner, units().at(first_unit + static_cast<size_t>(layer)),
            {in.x, in.padding, in.bias, in.encoded, in.encoded_padding},
            [this, stack, layer](nn::Parameters parameters, at::TensorList given) {
              const BlockInputs inputs{given[0], given[1], given[2], given[3], given[4]};
              BlockOutputs outputs = block(stack, layer, parameters, inputs);
              return std::vector<at::Tensor>{std::move(outputs.x), std::move(outputs.bias)};
            });
    in.x = out[0];
    if (layer == 0) in.bias = out[1];
  }
  return in.x;
}

at::Tensor EncoderDecoderModel::encode(const at::Tensor& ids, const at::Tensor& padding,
                                       nn::UnitRunner& runner) const {
  const at::Tensor x =
      run(runner, units().front(), {ids}, [this](nn::Parameters parameters, at::TensorList in) {
        return std::vector<at::Tensor>{embed(parameters, in[0])};
      })[0];
  return run_stack(Stack::kEncoder, 1, {.x = x, .padding = padding}, runner);
}

Output EncoderDecoderModel::forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) {
  check_columns(batch, kNotTakenByStacks);
  const auto encoder_units = static_cast<size_t>(encoder_layers_);
  const bool goes_on = past() > 0;  // with a text whose source has been read
  const at::Tensor padding = mask_that_hides(batch, &Batch::attention_mask);
  at::Tensor x = goes_on ? at::Tensor() : encode(batch.input_ids, padding, runner);
  if (cache() != nullptr && !goes_on) cache()->encoder_padding = padding;
  if (architecture().has_encoder_and_decoder()) {
    const std::vector<at::Tensor> entry =
        run(runner, units().at(encoder_units + 1), {x, decoder_ids(batch)},
            [this](nn::Parameters parameters, at::TensorList in) {
              DecoderEntry given = enter_decoder(parameters, in[0], in[1]);
              return std::vector<at::Tensor>{std::move(given.encoded), std::move(given.x)};
            });
    x = run_stack(Stack::kDecoder, encoder_units + 2,
                  {.x = entry[1],
                   .padding = mask_that_hides(batch, &Batch::decoder_attention_mask),
                   .encoded = entry[0],
                   .encoded_padding = cache() == nullptr ? padding : cache()->encoder_padding},
                  runner);
  }
  const std::vector<at::Tensor> result =
      run(runner, units().back(), {x, last_ends(batch)},
          [this, objective](nn::Parameters parameters, at::TensorList in) {
            at::Tensor hidden = in[0];
            if (in[1].defined()) {
              const at::Tensor index = in[1].view({-1, 1, 1}).expand({-1, 1, hidden.size(2)});
              hidden = hidden.gather(1, index).squeeze(1);
            }
            Output output = objective(head(parameters, hidden));
            return std::vector<at::Tensor>{std::move(output.loss), std::move(output.logits)};
          });
  return {result[0], result[1]};
}

}  // namespace hftrain::models
