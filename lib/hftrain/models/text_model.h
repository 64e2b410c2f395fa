// A model as the searches of generation/ see it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hftrain/generation/generate.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/quantised_matrices.h"

namespace hftrain::models {

// Reads the prompts as one batch, of decoders padded on the left, and goes on from a cache of keys and values; texts of a model that
// remembers none are read whole for each token, padded on the right. Scores are
// float32. Everything that it is given must outlive it; used by one thread.
class TextModel final : public generation::TokenModel {
 public:
  // `model` in evaluation mode, with a head that speaks. `places` is the room that the cache has from the start, in
  // tokens; `padding` the id that stands where there is no token. With `copies` of the model's matrices drafts are made: `always`, or
  // where they are seen to save time and texts are long enough for copies to be made.
  TextModel(Model& model, nn::UnitRunner& runner, std::span<const generation::Prompt> prompts, int64_t places,
            int64_t padding, nn::QuantisedMatrices* copies = nullptr, bool always = false);

  int64_t vocabulary() const override;
  std::span<const float> start() override;
  std::span<const float> next(std::span<const int64_t> tokens, std::span<const int64_t> parents) override;
  // Several at a time of decoders that remember, as many as a narrow product has rows.
  size_t ahead() const override;
  std::span<const float> next_of(std::span<const int64_t> tokens, int64_t parent) override;
  Foresees foresees(size_t written, size_t room) const override;
  std::span<const float> draft(int64_t token, int64_t parent) override;
  // Calls of the model so far; those of draft() are counted by themselves.
  int64_t steps() const { return steps_; }
  int64_t draft_steps() const { return draft_steps_; }

 private:
  // The rows of the cache that `parents` stand for, after forgetting what they have not read.
  std::vector<int64_t> rows_behind(std::span<const int64_t> parents);
  void select(std::span<const int64_t> parents);
  std::span<const float> read(const Batch& batch);
  std::span<const float> read_whole();
  std::span<const float> scored(const at::Tensor& logits);

  Model& model_;
  nn::UnitRunner& runner_;
  std::span<const generation::Prompt> prompts_;
  int64_t padding_;
  KeyValueCache cache_;
  std::vector<size_t> texts_;              // of each row the prompt that it goes on from
  std::vector<generation::Prompt> whole_;  // of a model that remembers nothing: each row's text so far
  int64_t read_ahead_ = 0;  // tokens of the one row in the last call, where it was next_of; else 0
  nn::QuantisedMatrices* copies_;
  bool drafts_always_;
  int64_t drafted_ = 0;  // tokens that draft() has read since the last call
  int64_t steps_ = 0, draft_steps_ = 0;
  at::Tensor scores_;  // [rows, vocabulary] float32 on the CPU
};

// Texts that go on beyond the positions that a model has learned are an Error (exit code 4), found before any is read.
void require_room(const architectures::Architecture& architecture,
                  std::span<const generation::Prompt> prompts, const generation::GenerationConfig& config);

}  // namespace hftrain::models
