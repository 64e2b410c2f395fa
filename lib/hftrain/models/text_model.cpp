#include "hftrain/models/text_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/nn/cpu/narrow_product.h"

namespace hftrain::models {
namespace {

using generation::Ids;

// Copies take as long as some steps: not for texts that end soon.
constexpr size_t kTokensBeforeCopying = 8, kTokensWorthCopying = 16;
using generation::Prompt;

enum class Side { kLeft, kRight };

struct Padded {
  at::Tensor ids, mask;  // [R, T]; no mask where nothing is padded
};

at::Tensor column(std::span<const int64_t> values, at::Device device) {
  at::Tensor result = at::empty({static_cast<int64_t>(values.size())}, at::kLong);
  std::ranges::copy(values, result.mutable_data_ptr<int64_t>());
  return result.to(device);
}

Padded padded(std::span<const Prompt> prompts, Ids Prompt::*member, Side side, int64_t padding,
              at::Device device) {
  size_t width = 0, least = std::numeric_limits<size_t>::max();
  for (const Prompt& prompt : prompts) {
    width = std::max(width, (prompt.*member).size());
    least = std::min(least, (prompt.*member).size());
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(prompts.size()), static_cast<int64_t>(width)};
  at::Tensor ids = at::full(shape, padding, at::kLong), mask = at::zeros(shape, at::kLong);
  for (size_t row = 0; row < prompts.size(); ++row) {
    const Ids& text = prompts[row].*member;
    const size_t first = row * width + (side == Side::kLeft ? width - text.size() : 0);
    std::ranges::copy(text, ids.mutable_data_ptr<int64_t>() + first);
    std::fill_n(mask.mutable_data_ptr<int64_t>() + first, text.size(), 1);
  }
  return {ids.to(device), least == width ? at::Tensor() : mask.to(device)};
}

}  // namespace

TextModel::TextModel(Model& model, nn::UnitRunner& runner, std::span<const Prompt> prompts, int64_t places,
                     int64_t padding, nn::QuantisedMatrices* copies, bool always)
    : model_(model),
      runner_(runner),
      prompts_(prompts),
      padding_(padding),
      cache_(places),
      copies_(copies),
      drafts_always_(always) {
  if (!model.remembers()) whole_.assign(prompts.begin(), prompts.end());
}

int64_t TextModel::vocabulary() const {
  return scores_.size(1);
}

std::span<const float> TextModel::scored(const at::Tensor& logits) {
  ++(drafted_ > 0 ? draft_steps_ : steps_);
  scores_ = logits.to(at::kFloat).cpu().contiguous();
  return {scores_.const_data_ptr<float>(), static_cast<size_t>(scores_.numel())};
}

std::span<const float> TextModel::read(const Batch& batch) {
  return scored(model_.next_logits(batch, cache_, runner_));
}

std::span<const float> TextModel::read_whole() {
  const at::Device device = model_.options().device;
  std::vector<int64_t> last;
  for (const Prompt& text : whole_) last.push_back(static_cast<int64_t>(text.ids.size()) - 1);
  Batch batch;
  batch.input_ids = padded(whole_, &Prompt::ids, Side::kRight, padding_, device).ids;
  return scored(model_.logits_behind(batch, column(last, device), runner_));
}

std::span<const float> TextModel::start() {
  if (!model_.remembers()) return read_whole();
  texts_.resize(prompts_.size());
  std::iota(texts_.begin(), texts_.end(), 0);
  const at::Device device = model_.options().device;
  const Padded given = padded(prompts_, &Prompt::ids, Side::kLeft, padding_, device);
  Batch batch;
  if (model_.architecture().has_encoder_and_decoder()) {
    if (given.mask.defined()) throw Error(ExitCode::kInternal, "decoders begin with equally many tokens");
    const Padded source = padded(prompts_, &Prompt::encoder_ids, Side::kRight, padding_, device);
    batch.input_ids = source.ids;
    batch.attention_mask = source.mask;
    batch.decoder_input_ids = given.ids;
  } else {
    batch.input_ids = given.ids;
    batch.attention_mask = given.mask;
  }
  return read(batch);
}

std::span<const float> TextModel::next(std::span<const int64_t> tokens, std::span<const int64_t> parents) {
  if (!model_.remembers()) {
    std::vector<Prompt> texts;
    for (size_t row = 0; row < tokens.size(); ++row) {
      texts.push_back(whole_.at(static_cast<size_t>(parents[row])));
      texts.back().ids.push_back(tokens[row]);
    }
    whole_ = std::move(texts);
    return read_whole();
  }
  select(rows_behind(parents));
  const at::Device device = model_.options().device;
  Batch batch;
  const bool encodes = model_.architecture().has_encoder_and_decoder();
  (encodes ? batch.decoder_input_ids : batch.input_ids) = column(tokens, device).unsqueeze(1);
  return read(batch);
}

std::vector<int64_t> TextModel::rows_behind(std::span<const int64_t> parents) {
  if (drafted_ > 0) cache_.forget(std::exchange(drafted_, 0));
  if (read_ahead_ == 0) return {parents.begin(), parents.end()};
  const int64_t place = parents.front();
  if (std::ranges::any_of(parents, [=](int64_t parent) { return parent != place; }))
    throw Error(ExitCode::kInternal, "texts go on from several places of one");
  cache_.forget(std::exchange(read_ahead_, 0) - 1 - place);
  return std::vector<int64_t>(parents.size(), 0);
}

void TextModel::select(std::span<const int64_t> parents) {
  std::vector<size_t> texts;
  for (const int64_t parent : parents) texts.push_back(texts_.at(static_cast<size_t>(parent)));
  using Parents = KeyValueCache::Parents;
  cache_.select(parents, texts == texts_ ? Parents::kSameTexts : Parents::kAnyText);
  texts_ = std::move(texts);
}

size_t TextModel::ahead() const {
  // On a device each token that is read ahead is launched by itself, and takes as long as a step.
  const bool alone = !model_.remembers() || model_.architecture().has_encoder_and_decoder() ||
                     !model_.options().device.is_cpu();
  return alone ? 1 : static_cast<size_t>(nn::cpu::kNarrowRows);
}

std::span<const float> TextModel::next_of(std::span<const int64_t> tokens, int64_t parent) {
  select(rows_behind(std::span(&parent, 1)));
  read_ahead_ = static_cast<int64_t>(tokens.size());
  Batch batch;
  batch.input_ids = column(tokens, model_.options().device).unsqueeze(0);
  return scored(model_.logits_of_each(batch, cache_, runner_));
}

TextModel::Foresees TextModel::foresees(size_t written, size_t room) const {
  if (copies_ == nullptr || ahead() == 1) return Foresees::kNever;
  if (drafts_always_) return Foresees::kAlways;
  const bool worth_copying = written >= kTokensBeforeCopying && room >= kTokensWorthCopying;
  return worth_copying || copies_->has_copies() ? Foresees::kWhereItSavesTime : Foresees::kNever;
}

std::span<const float> TextModel::draft(int64_t token, int64_t parent) {
  if (drafted_ == 0) select(rows_behind(std::span(&parent, 1)));
  ++drafted_;
  Batch batch;
  batch.input_ids = column(std::span(&token, 1), model_.options().device).unsqueeze(1);
  const nn::QuantisedProducts quick(*copies_);
  return read(batch);
}

void require_room(const architectures::Architecture& architecture, std::span<const Prompt> prompts,
                  const generation::GenerationConfig& config) {
  if (!architecture.bounded_positions()) return;
  for (const Prompt& prompt : prompts) {
    const auto length = static_cast<int64_t>(prompt.ids.size());
    // The last token of a text is not read.
    const int64_t decoder = length + config.most_new_tokens(length) - 1;
    const int64_t needed = std::max(decoder, static_cast<int64_t>(prompt.encoder_ids.size()));
    if (needed <= architecture.max_positions()) continue;
    throw Error(ExitCode::kData, "a text of " + std::to_string(needed) + " tokens is too long for the model")
        .where("prompt " + std::to_string(prompt.number + 1))
        .why("it has " + std::to_string(architecture.max_positions()) + " positions")
        .hint("a smaller max_new_tokens or max_length, or a shorter prompt");
  }
}

}  // namespace hftrain::models
