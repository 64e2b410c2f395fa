// What the decoder-only families share: embeddings, a stack of blocks, a last norm and a head.
#pragma once

#include <vector>

#include "hftrain/models/model.h"
#include "hftrain/nn/rotary.h"

namespace hftrain::models {

// Where the tokens of a batch stand, and what they may see.
struct DecoderPlaces {
  at::Tensor padding;    // [B, T]: 0 where there is no token; undefined: all are tokens
  at::Tensor positions;  // [B, T] int64; undefined: one after another, behind what was read before
  std::vector<int64_t>
      documents;  // lengths of those in the rows, one row after another; empty: each row is one
  std::shared_ptr<nn::SharedMasks> masks;  // of the blocks of this pass; null on a CPU
  // Of a family that turns queries and keys: a row for each place; with `positions` one for each token.
  nn::RotaryTables rotary;

  // What a block's attention is given of them.
  nn::AttentionMask attention_mask() const {
    return {.causal = true, .padding = padding, .documents = documents, .shared = masks};
  }
};

// The families give the maths of their units. Each gets the unit's parameters, already in the compute dtype,
// in the order of the table, and keeps nothing.
class DecoderModel : public Model {
 public:
  DecoderModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);
  Output forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) override;

 protected:
  // Called before the units of each forward: adds to `places` what is the family's own. Sequences have `length` tokens, with those
  // that were read before.
  virtual void prepare(DecoderPlaces& places, int64_t length);
  // ids [B, T] → [B, T, C], noise of NEFTune included.
  virtual at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids,
                           const DecoderPlaces& places) const = 0;
  virtual at::Tensor block(int64_t layer, nn::Parameters parameters, const at::Tensor& x,
                           const DecoderPlaces& places) const = 0;
  // x [B, T, C]; `parameters` are those of the head's unit that are not the head's own.
  virtual at::Tensor final_norm(nn::Parameters parameters, const at::Tensor& x) const = 0;

  // Which units draw random numbers while training. The noise of NEFTune and the head's dropout are known here.
  void draws_random(bool embeddings, bool blocks);

 private:
  DecoderPlaces places_of(const Batch& batch) const;
  // `places` [B]: of a head that looks at one place of a row; else undefined.
  HeadOutput head(nn::Parameters parameters, const at::Tensor& x, const at::Tensor& places) const;
  // The last token of each row that is not padding, [B] int64; undefined for a head that looks at all. A batch of
  // several rows without a padding token is an Error (exit code 4).
  at::Tensor last_tokens(const at::Tensor& ids) const;

  bool head_has_bias_ = false;
};

}  // namespace hftrain::models
