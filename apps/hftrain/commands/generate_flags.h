// What `hftrain generate` is told: its own flags, and the settings of generation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "hftrain/base/json.h"

namespace hftrain::app {

struct GenerateFlags {
  std::string model, tokenizer, revision = "main", cache_dir, plugin;
  std::vector<std::string> prompts;
  std::string prompt_file;
  int64_t batch_size = 8, seed = 42;
  std::string dtype = "auto", draft_weights = "auto";
  bool bf16 = false, fp16 = false, use_cpu = false;
  bool json = false, chat = false;
  std::optional<bool> stream;
  std::string system, chat_template;
  Json settings = Json::object();  // those that were given, in the form of generation_config.json
};

// Nothing when help or the version was asked for, and printed. Error (exit code 2): all that does not fit.
std::optional<GenerateFlags> read_generate_flags(const CommandContext& context);

}  // namespace hftrain::app
