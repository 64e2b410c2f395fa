#include "hftrain/trainer/text_writer.h"

#include <ATen/ops/full.h>

#include <algorithm>

#include "hftrain/models/text_model.h"
#include "hftrain/trainer/steps_together.h"

namespace hftrain::trainer {
namespace {

using generation::GeneratedText;
using generation::Ids;
using generation::Prompt;

constexpr int64_t kNoToken = -100;

// The tokens of a row that `mask`, which may be undefined, does not hide.
Ids tokens_of(const at::Tensor& ids, const at::Tensor& mask, int64_t row) {
  const int64_t width = ids.size(1);
  const int64_t* values = ids.const_data_ptr<int64_t>() + row * width;
  const int64_t* there = mask.defined() ? mask.const_data_ptr<int64_t>() + row * width : nullptr;
  Ids tokens;
  for (int64_t i = 0; i < width; ++i) {
    if (there == nullptr || there[i] != 0) tokens.push_back(values[i]);
  }
  return tokens;
}

at::Tensor rows_of(std::span<const Prompt> prompts, std::span<const std::vector<GeneratedText>> texts) {
  size_t width = 0;
  for (size_t row = 0; row < prompts.size(); ++row)
    width = std::max(width, prompts[row].ids.size() + texts[row].front().ids.size());
  at::Tensor rows = at::full({static_cast<int64_t>(prompts.size()), static_cast<int64_t>(width)}, kNoToken,
                             at::TensorOptions().dtype(at::kLong));
  for (size_t row = 0; row < prompts.size(); ++row) {
    int64_t* target = rows.mutable_data_ptr<int64_t>() + row * width;
    target = std::ranges::copy(prompts[row].ids, target).out;
    std::ranges::copy(texts[row].front().ids, target);
  }
  return rows;
}

}  // namespace

TextWriter::TextWriter(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
                       comm::Communicator& communicator)
    : plan_(plan), model_(model), runner_(runner), communicator_(communicator) {
  generation::take_json(config_, plan.evaluation.generation, model.architecture().vocab_size(), "the plan");
}

std::vector<Prompt> TextWriter::prompts_of(const LoadedBatch& batch) const {
  const models::Batch& columns = batch.tensors;
  std::vector<Prompt> prompts;
  for (int64_t row = 0; row < columns.input_ids.size(0); ++row) {
    Prompt prompt{.ids = {config_.decoder_start_token_id.value()},
                  .encoder_ids = tokens_of(columns.input_ids, columns.attention_mask, row),
                  .number = static_cast<uint64_t>(batch.samples[static_cast<size_t>(row)])};
    if (prompt.encoder_ids.empty()) prompt.encoder_ids = {config_.filler()};
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

at::Tensor TextWriter::write(const LoadedBatch& batch) {
  const std::vector<Prompt> prompts = prompts_of(batch);
  const int64_t places = 1 + config_.most_new_tokens(1);
  models::TextModel reader(model_, runner_, prompts, places, config_.filler());
  if (!plan_.strategy.sharded() || communicator_.world_size() == 1)
    return rows_of(prompts, generation::generate(reader, prompts, config_, plan_.seed));
  StepsTogether together(reader, communicator_, config_.filler());
  const auto texts = generation::generate(together, prompts, config_, plan_.seed);
  together.finish();
  return rows_of(prompts, texts);
}

}  // namespace hftrain::trainer
