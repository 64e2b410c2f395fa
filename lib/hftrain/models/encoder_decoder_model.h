// What the families with an encoder and a decoder share: two stacks of blocks, of which the second attends to what the
// first one made, and a head on the last of them.
#pragma once

#include "hftrain/models/model.h"

namespace hftrain::models {

enum class Stack { kEncoder, kDecoder };

// B rows of T tokens on this side, of S on the encoder's.
struct BlockInputs {
  at::Tensor x;                // [B, T, C]
  at::Tensor padding;          // [B, T], 0 where there is no token; undefined: all are tokens
  at::Tensor bias;             // what the first block of the stack gave for all; undefined for itself
  at::Tensor encoded;          // [B, S, C] in the decoder
  at::Tensor encoded_padding;  // [B, S], as padding
};

struct BlockOutputs {
  at::Tensor x;
  at::Tensor bias;  // of attention scores, for the blocks that follow in the stack; undefined: none
};

// The units are: embeddings, the encoder's blocks, the decoder's embeddings (with what comes after the encoder's last
// block), the decoder's blocks, head. A class without a decoder has the head after the encoder's blocks. The families
// give the maths of their units, from the unit's parameters in the compute dtype, in the order of the table (tied ones
// last), and keep nothing.
class EncoderDecoderModel : public Model {
 public:
  Output forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) override;

 protected:
  // `encoder_layers` of the architecture's layers() are the encoder's.
  EncoderDecoderModel(std::shared_ptr<const architectures::Architecture> architecture,
                      const ModelOptions& options, int64_t encoder_layers);

  // ids [B, S] → [B, S, C], noise of NEFTune included.
  virtual at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids) const = 0;
  virtual BlockOutputs block(Stack stack, int64_t layer, nn::Parameters parameters,
                             const BlockInputs& in) const = 0;
  struct DecoderEntry {
    at::Tensor encoded, x;
  };
  // x [B, S, C] of the encoder's last block (undefined while a text goes on: then so is what is given of it) and the
  // decoder's ids [B, D].
  virtual DecoderEntry enter_decoder(nn::Parameters parameters, const at::Tensor& x,
                                     const at::Tensor& ids) const = 0;
  // x [B, D, C] of the last block, or [B, C] of the place that a row is classified by.
  virtual HeadOutput head(nn::Parameters parameters, const at::Tensor& x) const = 0;

  // In float16 x without infinities, which become large numbers; x itself in other dtypes.
  static at::Tensor kept_finite(const at::Tensor& x);
  // Which units draw random numbers while training. The noise of NEFTune is known here.
  void draws_random(bool embeddings, bool blocks, bool head);

 private:
  // What the decoder reads: the batch's own ids, or its labels (for other heads than language models its input)
  // shifted right. No token to begin with, or none to pad with, is an Error (exit code 4).
  at::Tensor decoder_ids(const Batch& batch) const;
  // The last end of a text in each row, [B] int64; undefined for a head that looks at all places. Rows with different
  // numbers of them, or none, are an Error (exit code 4).
  at::Tensor last_ends(const Batch& batch) const;
  // The encoder's last block, [B, S, C], of ids and padding [B, S].
  at::Tensor encode(const at::Tensor& ids, const at::Tensor& padding, nn::UnitRunner& runner) const;
  at::Tensor run_stack(Stack stack, size_t first_unit, BlockInputs in, nn::UnitRunner& runner) const;

  int64_t encoder_layers_;
};

}  // namespace hftrain::models
