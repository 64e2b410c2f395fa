#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/generation/folder_settings.h"
#include "hftrain/generation/generation_config.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using generation::GenerationConfig;

// The saved config's file, or what stands in its place.
std::string config_origin(const ResolveInput& input) {
  const std::string& file = input.model.generation_config_origin;
  return file.empty() ? "the generation config that follows from config.json" : file;
}

bool says(const Json& config, const char* key) {
  return config.contains(key) && !config[key].is_null();
}

// The flag that limits texts, as the scripts have it: the length of evaluation's targets where no other is given. Empty:
// the config has a length, or nobody named one.
std::string limiting_flag(const ResolveInput& input, const Json& config) {
  const arguments::DataArguments& data = input.parsed.arguments.data;
  if (input.parsed.arguments.evaluation.generation_max_length) return "generation_max_length";
  if (data.val_max_target_length) return "val_max_target_length";
  const bool chosen = input.parsed.origins.is_chosen("max_target_length");
  const bool has_length = says(config, "max_length") || says(config, "max_new_tokens");
  return data.max_target_length && (chosen || !has_length) ? "max_target_length" : "";
}

int64_t value_of(const ResolveInput& input, const std::string& flag) {
  const arguments::Arguments& asked = input.parsed.arguments;
  if (flag == "generation_max_length") return asked.evaluation.generation_max_length.value();
  return flag == "val_max_target_length" ? asked.data.val_max_target_length.value()
                                         : asked.data.max_target_length.value();
}

// Texts that are too short to hold a token, or longer than what the decoder can read. Its last token is not read.
void check_length(const ResolveInput& input, const GenerationConfig& config, const std::string& flag,
                  Problems& problems) {
  const int64_t longest = 1 + config.most_new_tokens(1);
  const std::string where = flag.empty() ? config_origin(input) : input.parsed.origins.describe(flag);
  const std::string hint = flag.empty() ? "--generation_max_length" : "--" + flag;
  if (longest < 2)
    problems.usage("a text of " + std::to_string(longest) + " tokens has no room for one", where,
                   "the token that the decoder begins with counts", hint + " 2 or more");
  const auto architecture = running_architecture(input);
  const int64_t positions = architecture->max_positions();
  if (!architecture->bounded_positions() || longest - 1 <= positions) return;
  problems.usage("texts of " + std::to_string(longest) + " tokens are longer than the model's " +
                     std::to_string(positions) + " positions",
                 where, why_bounded(*architecture), hint + ' ' + std::to_string(positions + 1) + " at most");
}

// What a config may ask for that evaluation has no use for.
void check_texts(const ResolveInput& input, const GenerationConfig& config, Problems& problems) {
  const auto refuse = [&](std::string what, std::string why) {
    problems.add(ExitCode::kData, {Diagnostic::Severity::kError, std::move(what), config_origin(input),
                                   std::move(why), "leave it out of the generation config"});
  };
  if (config.num_return_sequences != 1)
    refuse("num_return_sequences is " + std::to_string(config.num_return_sequences),
           "evaluation judges one text for each row");
  if (!config.stop_strings.empty())
    refuse("stop_strings are not looked for in evaluation", "they are of texts, and it compares tokens");
}

int64_t beams_of(const arguments::EvaluationArguments& asked) {
  if (asked.generation_num_beams) return *asked.generation_num_beams;
  return asked.num_beams.value_or(1);
}

Json with_flags(const ResolveInput& input, const std::string& limit, Json config) {
  const arguments::EvaluationArguments& asked = input.parsed.arguments.evaluation;
  if (!limit.empty()) {
    config["max_length"] = value_of(input, limit);
    config.erase("max_new_tokens");
  }
  if (asked.generation_num_beams || asked.num_beams) config["num_beams"] = beams_of(asked);
  if (!says(config, "decoder_start_token_id"))
    config["decoder_start_token_id"] = input.model.architecture->decoder_start_token_id();
  return config;
}

}  // namespace

Json resolve_generation(const ResolveInput& input, const RunPlan& plan, bool writes, Problems& problems) {
  if (plan.model.generation_config.empty()) return nullptr;
  if (!writes && !input.parsed.arguments.evaluation.generation_config) return nullptr;
  Json config = parse_json(plan.model.generation_config, config_origin(input));
  generation::take_unknown_tokens(config, running_architecture(input)->vocab_size());
  const std::string limit = writes ? limiting_flag(input, config) : "";
  if (writes) config = with_flags(input, limit, std::move(config));
  try {
    GenerationConfig taken;
    generation::take_json(taken, config, running_architecture(input)->vocab_size(), config_origin(input));
    if (!writes) return nullptr;
    check_length(input, taken, limit, problems);
    check_texts(input, taken, problems);
    // Said in any case, for people and for the arithmetic of memory.
    config["num_beams"] = taken.num_beams;
    if (taken.max_new_tokens) {
      config.erase("max_length");
    } else {
      config["max_length"] = taken.max_length;
      config.erase("max_new_tokens");
    }
  } catch (const Error& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) problems.add(error.code(), diagnostic);
    return nullptr;
  }
  return config;
}

void note_generation(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const Json& config = plan.evaluation.generation;
  if (config.is_null()) return;
  if (says(config, "prompt_lookup_num_tokens") && config["prompt_lookup_num_tokens"] != 0)
    notes.push_back({Diagnostic::Severity::kNote, "prompt_lookup_num_tokens has no effect in evaluation",
                     config_origin(input),
                     "only `hftrain generate` guesses ahead, and only with decoders that have no encoder",
                     "leave it out of the generation config"});
  const std::vector<std::string> names = generation::unknown_settings(config);
  if (names.empty()) return;
  notes.push_back({Diagnostic::Severity::kNote, "of no effect on texts: " + join(names, ", "),
                   config_origin(input), "no setting of generation has such a name",
                   "correct it, or leave it out"});
}

}  // namespace hftrain::plan
