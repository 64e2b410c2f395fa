// The families behind Architecture::from_config and from_scratch. A new family is a schema and a factory
// here.
#pragma once

#include <memory>
#include <string>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/config_schema.h"

namespace hftrain::architectures {

const ConfigSchema& gpt2_schema();
const ConfigSchema& llama_schema();
const ConfigSchema& qwen2_schema();
const ConfigSchema& qwen3_schema();
const ConfigSchema& mistral_schema();

// `config` is complete (config_schema.h) and, for families with RoPE, normalised (rope_config.h).
std::shared_ptr<const Architecture> make_gpt2(const ConfigSchema& schema, Json config,
                                              const std::string& origin);
// llama, qwen2, qwen3 and mistral.
std::shared_ptr<const Architecture> make_llama(const ConfigSchema& schema, Json config,
                                               const std::string& origin);

}  // namespace hftrain::architectures
