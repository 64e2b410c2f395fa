// The tokenizer's special ids in what a run saves: before training the Trainer gives them to the model's
// config and generation config (transformers:trainer_utils.py, align_special_tokens).
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/plan/model_facts.h"

namespace hftrain::plan {

// Gives `config` the tokenizer's ids, unset ones too. Nothing where no tokenizer was read.
void align_config(const ModelFacts& model, Json& config);

// Text of the generation_config.json to save. What the model's folder brought is kept, byte for byte unless
// the tokenizer has other ids: an end token that is not among the file's goes before them, each once, the other two
// replace the file's. Without such a file it follows from `config`, which is aligned already, as in
// transformers. The id of --forced_bos_token stands in it, too.
std::string generation_config_text(const ModelFacts& model, const Json& config);

// Texts of the model end at this one alone, whatever its generation config has said: another tokenizer's template took the
// place of its own, as TRL's clone_chat_template has it. Nothing where there is no such file.
void replace_end_tokens(int64_t id, ModelFacts& model);

// "eos_token_id 50256 -> 0, …": the ids by which the tokenizer differs from the model's config or generation
// config; none where no tokenizer was read.
std::vector<std::string> changed_special_tokens(const ModelFacts& model);

}  // namespace hftrain::plan
