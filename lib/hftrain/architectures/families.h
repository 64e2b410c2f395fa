// The families behind Architecture::from_config and from_scratch, each in a file of its own.
#pragma once

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

const ConfigSchema& bart_schema();
const ConfigSchema& bert_schema();
const ConfigSchema& distilbert_schema();
const ConfigSchema& gpt2_schema();
const ConfigSchema& gemma_schema();
const ConfigSchema& llama_schema();
const ConfigSchema& qwen2_schema();
const ConfigSchema& qwen3_schema();
const ConfigSchema& mistral_schema();
const ConfigSchema& roberta_schema();
const ConfigSchema& vit_schema();
const ConfigSchema& t5_schema();

std::shared_ptr<const Architecture> make_bart(FamilyConfig given);
// bert and roberta.
std::shared_ptr<const Architecture> make_bert(FamilyConfig given);
std::shared_ptr<const Architecture> make_distilbert(FamilyConfig given);
std::shared_ptr<const Architecture> make_gpt2(FamilyConfig given);
// llama, qwen2, qwen3, mistral and gemma.
std::shared_ptr<const Architecture> make_llama(FamilyConfig given);
std::shared_ptr<const Architecture> make_vit(FamilyConfig given);
std::shared_ptr<const Architecture> make_t5(FamilyConfig given);

}  // namespace hftrain::architectures
