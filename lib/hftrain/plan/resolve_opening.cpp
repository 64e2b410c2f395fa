// How the model that runs differs from the one that is loaded: more embeddings, more positions, parameters that stay.
#include <algorithm>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using architectures::Architecture;
using architectures::ParameterSpec;
using architectures::ParameterTable;

// The name of units and modules of a model that has a decoder besides.
constexpr const char* kEncoder = "encoder.";

const ParameterSpec* find_parameter(const ParameterTable& table, const std::string& name) {
  const auto found = std::find_if(table.parameters.begin(), table.parameters.end(),
                                  [&](const ParameterSpec& spec) { return spec.name == name; });
  return found == table.parameters.end() ? nullptr : &*found;
}

// The dimension along which a parameter grew.
size_t grown_dim(const ParameterSpec& before, const ParameterSpec& after) {
  const auto [place, other] = std::mismatch(before.shape.begin(), before.shape.end(), after.shape.begin());
  return static_cast<size_t>(place - before.shape.begin());
}

// As transformers resizes: an output matrix of its own as the embeddings, its bias by the mean of the others, and
// with zeros the bias beside a tied one and what no gradient changes.
GrowthKind kind_of(const ParameterSpec& before, const ParameterSpec& after, const Architecture& loaded,
                   const Architecture& running) {
  const size_t dim = grown_dim(before, after);
  const bool tokens = before.shape[dim] == loaded.vocab_size() && after.shape[dim] == running.vocab_size();
  if (!tokens) return GrowthKind::kPositions;
  if (after.buffer) return GrowthKind::kZeros;
  if (after.shape.size() > 1) return GrowthKind::kTokens;
  return running.parameters().tied.empty() ? GrowthKind::kMean : GrowthKind::kZeros;
}

// Tokens of the longest sample that the flags allow.
int64_t longest_sample(const ResolveInput& input) {
  const tasks::TaskRow& task = task_row(input.parsed);
  if (task.longest == nullptr) return block_size(input.parsed, input.model);
  const tasks::TaskInput facts = task_input(input.parsed, input.model);
  return std::max(task.longest(facts), task.longest_target != nullptr ? task.longest_target(facts) : 0);
}

bool reads_flag(const tasks::TaskRow& task, std::string_view flag) {
  return std::find(task.flags.begin(), task.flags.end(), flag) != task.flags.end();
}

// Of tokens, positions and types; the positions of a model of images are a bare parameter.
bool is_embedding(const ParameterTable& table, const ParameterSpec& spec) {
  return (spec.embedding || spec.name.ends_with(".position_embeddings")) &&
         !table.units[static_cast<size_t>(spec.unit)].repeated;
}

// Of the encoder of a model that has a decoder besides, with the token embedding that it uses.
bool is_encoder(const ParameterTable& table, const ParameterSpec& spec) {
  const std::string& unit = table.units[static_cast<size_t>(spec.unit)].name;
  return unit.starts_with(kEncoder) || spec.name.find(std::string(".") + kEncoder) != std::string::npos ||
         spec.name.starts_with(kEncoder);
}

}  // namespace

int64_t added_positions(const ResolveInput& input) {
  const Architecture& model = *input.model.architecture;
  const int64_t positions = usable_positions(input.model);
  if (!model.learned_positions() || positions <= 0) return 0;
  const bool of_task = reads_flag(task_row(input.parsed), "max_source_length");
  if (!input.parsed.arguments.model.resize_position_embeddings.value_or(of_task)) return 0;
  return std::max<int64_t>(0, longest_sample(input) - positions);
}

std::vector<GrownParameter> grown_parameters(const Architecture& loaded, const Architecture& running) {
  std::vector<GrownParameter> grown;
  for (const ParameterSpec& spec : running.parameters().parameters) {
    const ParameterSpec* before = find_parameter(loaded.parameters(), spec.name);
    if (before == nullptr || before->shape == spec.shape || spec.shape.empty()) continue;
    grown.push_back({spec.name, before->shape, kind_of(*before, spec, loaded, running)});
  }
  return grown;
}

std::vector<int> frozen_parameters(const ResolveInput& input, const Architecture& running,
                                   Problems& problems) {
  const arguments::ModelArguments& asked = input.parsed.arguments.model;
  const ParameterTable& table = running.parameters();
  const bool with_decoder = running.has_encoder_and_decoder();
  if (asked.freeze_encoder && !with_decoder) {
    problems.usage("freeze_encoder is for models with an encoder and a decoder",
                   input.parsed.origins.describe("freeze_encoder"),
                   running.model_type() + " with this head has one stack of blocks",
                   "--freeze_embeds, or leave it out");
  }
  if (running.adapter() && (asked.freeze_encoder || asked.freeze_embeds)) {
    const char* flag = asked.freeze_encoder ? "freeze_encoder" : "freeze_embeds";
    problems.usage(std::string(flag) + " and an adapter exclude each other",
                   input.parsed.origins.describe(flag),
                   "all but the adapter and --lora_modules_to_save is frozen", "leave it out");
  }
  std::vector<int> frozen, kept;
  if (running.adapter()) kept = architectures::saved_whole(table, *running.adapter(), running.model_type());
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& spec = table.parameters[i];
    const bool encoder = asked.freeze_encoder && with_decoder && (is_encoder(table, spec) || i == 0);
    const bool beside_adapter = running.adapter() && !spec.adapts && !spec.buffer &&
                                !std::binary_search(kept.begin(), kept.end(), static_cast<int>(i));
    if (encoder || beside_adapter || (asked.freeze_embeds && is_embedding(table, spec)))
      frozen.push_back(static_cast<int>(i));
  }
  return frozen;
}

// A vocabulary that the family brings along and nobody chose: of a tiny model it is nearly all of an update.
void note_idle_vocabulary(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  constexpr int64_t kManyTimes = 4;  // a vocabulary that is rounded up is no such one
  const arguments::ModelArguments& asked = input.parsed.arguments.model;
  const int64_t ids = input.model.tokenizer_vocabulary.value_or(0);
  const std::string overrides = asked.config_overrides.value_or("");
  const bool chosen = !input.model.source_folder.empty() || asked.config_name ||
                      overrides.find("vocab_size") != std::string::npos;
  if (chosen || ids == 0 || input.model.architecture->vocab_size() <= kManyTimes * ids) return;
  notes.push_back(note(
      "the model has a vocabulary of " + with_thousands(input.model.architecture->vocab_size()) +
          " tokens, and the tokenizer one of " + with_thousands(ids),
      "the others never occur and take their time in every update",
      "--config_overrides vocab_size=" + std::to_string(ids) + (overrides.empty() ? "" : ',' + overrides)));
}

std::vector<Diagnostic> opening_notes(const ResolveInput& input, const RunPlan& plan) {
  std::vector<Diagnostic> notes;
  note_idle_vocabulary(input, notes);
  if (input.model.has_own_matrix)
    notes.push_back(
        warning("the output matrix is one of its own, though the config ties it to the embeddings",
                "the model's files hold the two with different numbers, which transformers keeps, too",
                "\"tie_word_embeddings\": false in its config.json says so"));
  const int64_t vocabulary = input.model.architecture->vocab_size();
  if (plan.model.config.value("vocab_size", vocabulary) != vocabulary) {  // models of images have none
    notes.push_back(note("the model gets " + plan.model.config["vocab_size"].dump() +
                             " embeddings instead of " + std::to_string(vocabulary),
                         "the tokenizer has that many ids"));
  }
  if (const int64_t added = added_positions(input); added > 0) {
    const int64_t before = usable_positions(input.model);
    notes.push_back(warning("the model gets " + std::to_string(before + added) + " positions instead of " +
                                std::to_string(before),
                            "samples may be that long; the new ones start from random numbers",
                            "--resize_position_embeddings false to refuse that"));
  }
  if (input.parsed.arguments.model.resize_position_embeddings.value_or(false) &&
      !input.model.architecture->learned_positions()) {
    notes.push_back(
        note("resize_position_embeddings has no effect here",
             input.model.architecture->model_type() + " learns no embedding for each position of a text"));
  }
  if (!plan.model.frozen.empty() && !plan.model.adapter) {
    notes.push_back(note(std::to_string(plan.model.frozen.size()) + " parameters are not trained, " +
                         std::to_string(plan.model.parameters - plan.model.trainable_parameters) + " of " +
                         std::to_string(plan.model.parameters) + " numbers"));
  }
  return notes;
}

}  // namespace hftrain::plan
