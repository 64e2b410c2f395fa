// The two spellings of rotary embedding settings: v5 writes `rope_parameters`, v4 `rope_theta` and
// `rope_scaling`.
#pragma once

#include <string>

#include "hftrain/architectures/architecture.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

// Folds the v4 keys of `config` into `rope_parameters` by the precedence of transformers 5.17: a non-null
// rope_scaling replaces rope_parameters; a theta inside the object wins over the top-level rope_theta;
// neither gives 10000, default. The v4 keys are removed from `config`.
void normalise_rope(Json& config);

// Reads the normalised object into `typed`. A type other than default, linear and llama3, missing numbers and
// partial rotation are refused (exit code 4, `origin` named).
void read_rope(const Json& config, const std::string& origin, LlamaConfig& typed);

// Adds rope_theta and rope_scaling, which v4 readers need and which 5.17 folds back into the same
// rope_parameters.
void add_v4_rope(Json& config);

}  // namespace hftrain::architectures
