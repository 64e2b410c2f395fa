// The two spellings of rotary embedding settings: v5 writes `rope_parameters`, v4 `rope_theta` and
// `rope_scaling`.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/base/json.h"

namespace hftrain::architectures {

enum class RopeScaling { kNone, kLinear, kBanded, kYarn };

struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  // Of kBanded: wavelengths above original_max_position/low_freq_factor are stretched by the factor, below
  // original_max_position/high_freq_factor kept, in between blended.
  double low_freq_factor = 1.0, high_freq_factor = 4.0;
  int64_t original_max_position = 8192;  // of kBanded and kYarn
  // Of kYarn (Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models"): frequencies that turn more often
  // than `beta_fast` times in original_max_position are kept, those below `beta_slow` times divided by the factor, in between
  // blended by their number, from a whole one to a whole one unless `truncate` is off. cos and sin are multiplied by
  // `attention_factor`.
  double beta_fast = 32.0, beta_slow = 1.0, attention_factor = 1.0;
  bool truncate = true;
  // Type dynamic: frequencies go by the length of the sequence beyond max_position_embeddings, which is therefore the most.
  bool bounded = false;
};

// Folds the v4 keys of `config` into `rope_parameters` by the precedence of transformers 5.17: a non-null
// rope_scaling replaces rope_parameters; a theta inside the object wins over the top-level rope_theta;
// neither gives 10000, default. The v4 keys are removed from `config`.
void normalise_rope(Json& config);

// Reads the normalised object. A type other than default, linear, dynamic, yarn and llama3, missing numbers and
// partial rotation are refused (exit code 4, `origin` named).
RopeConfig read_rope(const Json& config, const std::string& origin);

// Adds rope_theta and rope_scaling, which v4 readers need and which 5.17 folds back into the same
// rope_parameters.
void add_v4_rope(Json& config);

}  // namespace hftrain::architectures
