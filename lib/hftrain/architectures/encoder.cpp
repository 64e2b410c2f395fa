#include "hftrain/architectures/encoder.h"

#include <utility>

#include "hftrain/architectures/dropped_weights.h"

namespace hftrain::architectures {

void add_encoder_blocks(ParameterTableBuilder& builder, const EncoderConfig& config, const std::string& stack,
                        const EncoderBlockNames& names) {
  const int64_t width = config.hidden_size, inner = config.intermediate_size;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string block = stack + '.' + std::to_string(layer) + '.';
    builder.begin_block(layer);
    for (const char* name : {names.query, names.key, names.value, names.attended})
      builder.matrix(block + name, width, width, width);
    builder.norm(block + names.attended_norm, width, /*with_bias=*/true);
    builder.matrix(block + names.inner, inner, width, inner);
    builder.matrix(block + names.outer, width, inner, width);
    builder.norm(block + names.outer_norm, width, /*with_bias=*/true);
  }
}

EncoderArchitecture::EncoderArchitecture(FamilyConfig given, EncoderConfig config, ParameterTable table,
                                         std::vector<std::string> classes)
    : FamilyArchitecture(std::move(given)), config_(std::move(config)), classes_(std::move(classes)) {
  set_table(std::move(table));
}

// Rows up to that of padding are no token's.
int64_t EncoderArchitecture::max_positions() const {
  return config_.counts_positions ? config_.positions - *config_.padding - 1 : config_.positions;
}

ActivationFootprint EncoderArchitecture::activations() const {
  const int64_t width = config_.hidden_size;
  ActivationFootprint block;
  // What enters, q, k, v, the attention's output, both sums and the first norm of them; the inner layer before and
  // after its activation.
  block.linear = 8 * width + 2 * config_.intermediate_size;
  block.attended = width;
  block.passing = width + config_.intermediate_size;
  if (config_.attended_dropout > 0) block.masks += width;
  if (config_.dropout > 0) block.masks += width;
  if (config_.attention_dropout > 0) block.dropped = kOfDroppedWeight * config_.heads;
  return block;
}

std::vector<BlockStack> EncoderArchitecture::stacks() const {
  const bool drops = config_.dropout > 0 || config_.attended_dropout > 0 || config_.attention_dropout > 0;
  if (drops || head() != Head::kSequenceClassification) return Architecture::stacks();
  return ending_at_first(*this, 3 * config_.hidden_size);  // what enters, k and v
}

}  // namespace hftrain::architectures
