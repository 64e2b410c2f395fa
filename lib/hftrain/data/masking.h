// Masked language modelling: which tokens of a sample are hidden, and what stands in their place, as
// transformers' DataCollatorForLanguageModeling has it.
//
// A token is chosen with one probability. Of the chosen ones 80 % become the mask token, 10 % a random token of
// the vocabulary, 10 % stay; their labels are their ids, all others' −100. With whole words the first token of a
// word decides for all of it, and all chosen tokens become the mask token. Special tokens and padding are never
// chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hftrain/data/collator.h"

namespace hftrain::data {

// The column that says of each token what it is to masking.
inline constexpr const char* kMaskRoles = "mask_roles";
enum MaskRole : int32_t {
  kMayBeMasked = 0,
  kNeverMasked = 1,    // the post-processor added it
  kContinuesWord = 2,  // with whole words: it goes with the token before it, but at the start of a sample
};

// Tokens of a sample before they are hidden, and then what the model sees and what it is to say.
struct MaskedSample {
  std::span<int64_t> ids;
  std::span<const int64_t> roles;
  std::span<int64_t> labels;
};

// `sample` is its number in the split. What is drawn for a place depends on (seed, epoch, sample, place) alone:
// numbers k = 0, 1, … of SplitMix64 with the state mix(mix(mix(seed + g) + epoch + g) + sample + g), place p
// using 4p to 4p + 3 (mix being its finalizer and g its increment): chosen, masked, else replaced, by which id.
// The first three are compared as numbers from 0 to below 1 made of the upper 53 bits, an id is the upper half
// of the product with the vocabulary's size.
void mask_tokens(const MaskedSample& sample, const MaskingOptions& options, const DrawKey& key,
                 int64_t number);

// Tensors of padding_collator(options) and labels [B, T] beside them; the rows have the column kMaskRoles, and
// the first tensor is input_ids.
std::unique_ptr<Collator> masking_collator(PaddingOptions options, const MaskingOptions& masking);

}  // namespace hftrain::data
