#include "hftrain/models/decoder_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <memory>

#include "hftrain/base/error.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/linear.h"

namespace hftrain::models {
namespace {

using architectures::Head;
using Tensors = std::vector<at::Tensor>;

// Of the head itself, a tied matrix not counted.
int64_t own_parameters(const architectures::ParameterTable& table) {
  return std::count_if(table.parameters.begin(), table.parameters.end(),
                       [](const architectures::ParameterSpec& spec) { return spec.head; });
}

// Nothing sees what comes behind it: padding behind a row hides nothing from its tokens, and attention without a mask has a kernel
// of its own. What then comes out at padded places is looked at by answers alone, which score every place of a row.
bool only_behind(const at::Tensor& mask) {
  const int64_t length = mask.size(1);
  return length < 2 || (mask.narrow(1, 1, length - 1) <= mask.narrow(1, 0, length - 1)).all().item<bool>();
}

// Lengths of the documents that begin where a position is 0, and of the rows.
std::vector<int64_t> documents_at(const at::Tensor& positions) {
  const at::Tensor here = positions.to(at::kCPU).contiguous();
  const int64_t *at = here.data_ptr<int64_t>(), width = here.size(1);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < here.numel(); ++i) {
    if (i % width == 0 || at[i] == 0) lengths.push_back(0);
    ++lengths.back();
  }
  return lengths;
}

constexpr std::array kNotTaken = {&Batch::token_type_ids, &Batch::pixel_values, &Batch::decoder_input_ids,
                                  &Batch::decoder_attention_mask};

}  // namespace

DecoderModel::DecoderModel(std::shared_ptr<const architectures::Architecture> architecture,
                           const ModelOptions& options)
    : Model(std::move(architecture), options),
      head_has_bias_(own_parameters(this->architecture().parameters()) == 2) {}

void DecoderModel::prepare(DecoderPlaces&, int64_t) {}

void DecoderModel::draws_random(bool embeddings, bool blocks) {
  for (nn::Unit& unit : units_) set_random(unit, unit.repeated && blocks);
  set_random(units_.front(), embeddings || options().neftune_alpha > 0);
  const bool drops = architecture().head() == Head::kTokenClassification;
  set_random(units_.back(), drops && architecture().labels().dropout > 0);
}

at::Tensor DecoderModel::last_tokens(const at::Tensor& ids) const {
  if (architecture().head() != Head::kSequenceClassification) return {};
  const std::optional<int64_t> padding = architecture().pad_token_id();
  if (padding) return (at::arange(ids.size(1), ids.options()) * (ids != *padding)).argmax(-1);
  if (ids.size(0) == 1) return at::full({1}, ids.size(1) - 1, ids.options());
  throw Error(ExitCode::kData, "rows are classified by their last token, and there is no padding token")
      .where("pad_token_id of the model's config")
      .why("a batch has several rows, and padding cannot be told from text")
      .hint("a tokenizer with a padding token, or batches of one row");
}

HeadOutput DecoderModel::head(nn::Parameters parameters, const at::Tensor& x,
                              const at::Tensor& places) const {
  const size_t norm = parameters.size() - (head_has_bias_ ? 2 : 1);
  HeadOutput out{.weight = nn::matrix_of_head(x, parameters[norm]),
                 .kernels = options().kernels.loss,
                 .products = products()};
  if (head_has_bias_) out.bias = parameters[norm + 1];
  if (!places.defined()) {
    out.hidden = final_norm(parameters.slice(0, norm), x);
  } else {
    const at::Tensor index = places.view({-1, 1, 1}).expand({-1, 1, x.size(2)});
    out.hidden = final_norm(parameters.slice(0, norm), x.gather(1, index)).squeeze(1);
  }
  if (architecture().head() == Head::kTokenClassification)
    out.hidden = nn::dropout(out.hidden, active(architecture().labels().dropout));
  return out;
}

DecoderPlaces DecoderModel::places_of(const Batch& batch) const {
  const bool documents_at_once = options().kernels.rest == nn::Kernels::kFused;
  const auto masks =
      batch.input_ids.is_cpu() ? nullptr : std::make_shared<nn::SharedMasks>(documents_at_once);
  if (cache() != nullptr) return {cache()->padding(), cache()->positions(), {}, masks};
  DecoderPlaces places{mask_that_hides(batch, &Batch::attention_mask), batch.position_ids, {}, masks};
  const Head head = architecture().head();
  const Batch& seen = on_host(batch);
  const bool looks_at_padding = head == Head::kQuestionAnswering;
  if (!looks_at_padding && places.padding.defined() && only_behind(seen.attention_mask))
    places.padding = at::Tensor();
  if (!places.positions.defined()) return places;
  if (head != Head::kCausalLm || places.padding.defined())
    throw Error(ExitCode::kInternal, "documents in a row are of language models, with padding behind them");
  places.documents = documents_at(seen.position_ids);
  return places;
}

Output DecoderModel::forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) {
  check_columns(batch, kNotTaken);
  DecoderPlaces known = places_of(batch);
  prepare(known, past() + batch.input_ids.size(1));
  const auto placed = std::make_shared<const DecoderPlaces>(std::move(known));
  Tensors x = run(runner, units().front(), {batch.input_ids},
                  [this, placed](nn::Parameters parameters, at::TensorList in) {
                    return Tensors{embed(parameters, in[0], *placed)};
                  });
  for (size_t i = 1; i + 1 < units().size(); ++i) {
    const int64_t layer = static_cast<int64_t>(i) - 1;
    x = run(runner, units()[i], {x[0]}, [this, layer, placed](nn::Parameters parameters, at::TensorList in) {
      return Tensors{block(layer, parameters, in[0], *placed)};
    });
  }
  const at::Tensor places = last_tokens(batch.input_ids);
  const Tensors result =
      run(runner, units().back(), x, [this, objective, places](nn::Parameters parameters, at::TensorList in) {
        Output output = objective(head(parameters, in[0], places));
        return Tensors{std::move(output.loss), std::move(output.logits)};
      });
  return {result[0], result[1]};
}

}  // namespace hftrain::models
