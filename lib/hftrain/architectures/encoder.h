// What the families of encoders share: a typed config, blocks with the norm after each sum, and the heads over them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/architectures/family.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {

// How a head uses its matrices; which of it counts depends on the head.
struct EncoderHead {
  std::string activation;        // after the first matrix of a head that has two
  bool bias_first = false;       // of masked language models: the vocabulary's bias stands before the others
  bool drops_first_too = false;  // of sequence classification: the first token's dropout
  double dropout = 0;            // before the last matrix; none in masked language models
};

struct EncoderConfig {
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, layers = 0, heads = 0;
  int64_t positions = 0;           // rows of the table
  int64_t token_types = 0;         // 0: no such embeddings
  std::optional<int64_t> padding;  // the token whose row starts at 0 and gets no gradient
  // Positions are counted over the tokens that are not padding, from `padding` + 1; padding has `padding` itself.
  bool counts_positions = false;
  bool positions_after_norm = false;  // in the order of parameters, not of the maths
  std::string activation;
  double layer_norm_eps = 1e-12;
  double dropout = 0;           // after the embeddings' norm, and after each block's last matrix
  double attended_dropout = 0;  // after the attention's last matrix
  double attention_dropout = 0;
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;
  EncoderHead head;
};

// What a family calls the modules of a block, below the block itself.
struct EncoderBlockNames {
  const char *query, *key, *value, *attended, *attended_norm, *inner, *outer, *outer_norm;
};

// The units of blocks "<stack>.0", "<stack>.1", …; the parameters of each in the order of the names.
void add_encoder_blocks(ParameterTableBuilder& builder, const EncoderConfig& config, const std::string& stack,
                        const EncoderBlockNames& names);

class EncoderArchitecture final : public FamilyArchitecture {
 public:
  // `classes`: those that may be wrapped as units.
  EncoderArchitecture(FamilyConfig given, EncoderConfig config, ParameterTable table,
                      std::vector<std::string> classes);

  const EncoderConfig& config() const noexcept { return config_; }
  std::vector<std::string> layer_class_names() const override { return classes_; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override;
  bool learned_positions() const override { return true; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t layers() const override { return config_.layers; }
  ActivationFootprint activations() const override;
  std::vector<BlockStack> stacks() const override;

 private:
  EncoderConfig config_;
  std::vector<std::string> classes_;
};

}  // namespace hftrain::architectures
