// The model that `hftrain generate` writes with, as far as it is known without its weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate_flags.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/generation/generate.h"
#include "hftrain/generation/text_protocol.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::app {

struct WritingModel {
  std::string folder, dtype, tied_dtype;
  std::optional<plan::PluginPlan> plugin;  // that the family comes from
  std::string adapter;                     // the folder of one that stands beside the weights; empty: none
  std::vector<std::string>
      unknown_adapter_keys;  // of its config, as architectures::unknown_adapter_keys says them
  std::shared_ptr<const architectures::Architecture> architecture;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  Json settings;                // the folder's, and those that were given over them
  std::string settings_origin;  // the folder's file; empty: none
  Json unknown_tokens;          // of the folder's special tokens those that are no tokens of the model
  std::vector<std::string> unknown_settings;  // keys of the folder's file that nobody reads
  generation::GenerationConfig config;        // what they come to

  std::string text_of(std::span<const int64_t> ids) const;  // without special tokens
  // What the model is to go on from. `number`: its place, from 0; `called`: what stands there. Errors (exit code
  // 4): nothing to go on from, ids that the model does not have.
  generation::Prompt prompt(std::string_view text, bool special_tokens, uint64_t number,
                            const char* called = "prompt") const;
};

// Reads small files only. Errors: exit code 4 for what is missing in the folder or cannot write text, 2 for flags that do
// not fit.
WritingModel open_writing_model(const GenerateFlags& flags, const Environment& environment);
// Where it runs: the first visible GPU, or all cores.
// Why nothing is guessed ahead, whatever is asked for; null: it is.
const char* why_nothing_is_guessed(const WritingModel& model, const generation::TextSetup& setup);
// Why copies of the weights draft nothing either; `setup` says the dtype and the device. Null: they may.
const char* why_nothing_is_drafted(const WritingModel& model, const generation::TextSetup& setup);

generation::TextSetup setup_of(const WritingModel& model, const GenerateFlags& flags,
                               const Environment& environment);

}  // namespace hftrain::app
