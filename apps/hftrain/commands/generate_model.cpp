#include "generate_model.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/described_family.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"
#include "hftrain/generation/folder_settings.h"
#include "hftrain/machine/detect_topology.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/model_facts.h"
#include "hftrain/storage/model_folder.h"
#include "launcher/front/inputs.h"

namespace hftrain::app {
namespace {

using architectures::Architecture;
using architectures::Head;
using generation::Ids;
using tokenizer::TokenId;

// A class that is not known, a body alone among them, is opened as the kind of model that its config describes.
Head head_of(const Json& config) {
  if (const auto head = Architecture::head_of(config)) return *head;
  return json_member(config, "is_encoder_decoder") == true ? Head::kSeq2SeqLm : Head::kCausalLm;
}

void require_writer(Head head, const std::string& folder) {
  if (architectures::generates(head)) return;
  throw Error(ExitCode::kData, "this model writes no text")
      .where(folder + "/config.json (architectures)")
      .why("it ends in a head for " + std::string(architectures::head_word(head)))
      .hint("a folder of a causal language model or of a sequence-to-sequence model");
}

// Nothing else of a plug-in acts where nothing is trained.
void require_family_of(const plan::PluginPlan& plugin, const Architecture& architecture) {
  for (const architectures::ConfigSchema* schema : architectures::described_schemas()) {
    if (architecture.model_type() == schema->model_type) return;
  }
  throw Error(ExitCode::kUsage, "--plugin does nothing here")
      .where("--plugin " + plugin.path)
      .why("the model is a " + architecture.model_type() +
           ", and the plug-in adds no such family; its callbacks, reporters, loss, task and metrics act in a "
           "run")
      .hint("leave it out");
}

Json with_flags(const Json& of_folder, const GenerateFlags& flags) {
  Json merged = of_folder;
  for (const auto& [key, value] : flags.settings.items()) merged[key] = value;
  return merged;
}

// Each source is read alone as well, so that a mistake is told where it is.
void take_settings(const GenerateFlags& flags, generation::FolderSettings folder, WritingModel& model) {
  const int64_t vocabulary = model.architecture->vocab_size();
  model.unknown_settings = generation::unknown_settings(folder.values);
  model.unknown_tokens = generation::take_unknown_tokens(folder.values, vocabulary);
  generation::GenerationConfig of_folder;
  generation::take_json(of_folder, folder.values, vocabulary, folder.origin);
  model.settings = with_flags(folder.values, flags);
  model.settings_origin = folder.origin;
  model.config.positions = model.architecture->max_positions();
  generation::take_json(model.config, model.settings, vocabulary, "command line", ExitCode::kUsage);
  const auto start = model.architecture->decoder_start_token_id();
  if (!model.config.decoder_start_token_id && start && *start >= 0 && *start < vocabulary)
    model.config.decoder_start_token_id = start;
}

std::string dtype_of(const GenerateFlags& flags, const std::string& stored, bool on_gpu) {
  const std::string dtype = flags.dtype == "auto" ? stored : flags.dtype;
  if (dtype != "float16" || on_gpu) return dtype;
  if (flags.dtype == "auto") return "float32";
  throw Error(ExitCode::kUsage, "float16 does not work on the CPU")
      .where("--dtype float16")
      .why("there is no GPU to use, and processors compute in float32 or bfloat16")
      .hint("--dtype float32");
}

std::string drafts_of(const GenerateFlags& flags, const WritingModel& model,
                      const generation::TextSetup& setup, const plan::Topology& topology) {
  if (why_nothing_is_drafted(model, setup) != nullptr) return "none";
  if (flags.draft_weights != "auto") return flags.draft_weights;
  int64_t bytes = 0;
  for (const architectures::ParameterSpec& spec : model.architecture->parameters().parameters)
    bytes += spec.numel() * 4;
  return generation::drafts_unasked(bytes, topology.host.available_bytes);
}

// A GPU that is there but cannot be used is an error, never a silent CPU, as in training.
bool uses_gpu(const GenerateFlags& flags, const plan::Topology& topology) {
  if (flags.use_cpu) return false;
  if (!topology.gpu_problem.empty() && topology.visible.devices.empty() && !plan::hides_gpus(topology))
    throw Error(ExitCode::kEnvironment, "the GPUs of this machine cannot be used")
        .where("this machine")
        .why(topology.gpu_problem)
        .hint("another driver, or --use_cpu");
  return !topology.visible.devices.empty();
}

// Why there is none of these special tokens: the first that the folder names is not one of the model's.
std::string none_of(const WritingModel& model, std::initializer_list<const char*> names,
                    const std::string& otherwise) {
  for (const char* name : names) {
    const auto unknown = model.unknown_tokens.find(name);
    if (unknown == model.unknown_tokens.end()) continue;
    return "the " + std::string(name) + " of " + model.settings_origin + " is " + unknown->dump() +
           ", which is no token of a vocabulary of " + std::to_string(model.architecture->vocab_size());
  }
  return otherwise;
}

Error nothing_to_go_on_from(const std::string& where, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kData, "the model has nothing to go on from").where(where).why(why).hint(hint);
}

}  // namespace

std::string WritingModel::text_of(std::span<const int64_t> ids) const {
  const std::vector<TokenId> narrow(ids.begin(), ids.end());
  return tokenizer->decode(narrow, /*skip_special_tokens=*/true);
}

generation::Prompt WritingModel::prompt(std::string_view text, bool special_tokens, uint64_t number,
                                        const char* called) const {
  const std::string where = std::string(called) + ' ' + std::to_string(number + 1);
  std::vector<TokenId> tokens;
  tokenizer->encode_into(text, special_tokens, tokens);
  Ids ids(tokens.begin(), tokens.end());
  for (const int64_t id : ids) {
    if (id < architecture->vocab_size()) continue;
    throw Error(ExitCode::kData, "the tokenizer has tokens that the model does not have")
        .where(where)
        .why("it has token " + std::to_string(id) + ", and the model's vocab_size is " +
             std::to_string(architecture->vocab_size()))
        .hint("the tokenizer that the model was trained with: --tokenizer_name DIR");
  }
  if (!architecture->has_encoder_and_decoder()) {
    if (ids.empty() && config.bos_token_id) ids.push_back(*config.bos_token_id);
    if (ids.empty())
      throw nothing_to_go_on_from(
          where,
          "it is empty, and " +
              none_of(*this, {"bos_token_id"}, "there is no bos_token_id that could stand for it"),
          "a text, or --bos_token_id ID");
    return {std::move(ids), {}, number};
  }
  const auto start = config.decoder_start_token_id ? config.decoder_start_token_id : config.bos_token_id;
  if (!start)
    throw nothing_to_go_on_from(where,
                                none_of(*this, {"decoder_start_token_id", "bos_token_id"},
                                        "the folder names neither decoder_start_token_id nor bos_token_id"),
                                "--decoder_start_token_id ID: what its decoder was trained to begin with");
  if (ids.empty()) throw nothing_to_go_on_from(where, "its encoder gets no token of an empty text", "a text");
  return {{*start}, std::move(ids), number};
}

WritingModel open_writing_model(const GenerateFlags& flags, const Environment& environment) {
  arguments::Arguments named;
  named.model.model_name_or_path = flags.model;
  named.model.model_revision = flags.revision;
  named.model.dtype = "auto";
  if (!flags.tokenizer.empty()) named.model.tokenizer_name = flags.tokenizer;
  if (!flags.cache_dir.empty()) named.model.cache_dir = flags.cache_dir;
  WritingModel model;
  if (!flags.plugin.empty()) model.plugin = front::open_plugin(flags.plugin);
  const plan::HubCache cache = plan::hub_cache(named.model.cache_dir, environment);
  const plan::OpenedFolder opened = plan::open_folder(
      plan::resolve_model_folder(flags.model, "--model_name_or_path", flags.revision, cache), flags.revision,
      cache);
  model.folder = opened.weights;
  model.adapter = opened.adapter;
  if (opened.spec)
    model.unknown_adapter_keys =
        architectures::unknown_adapter_keys(parse_json(opened.config, opened.adapter));
  const Head head = head_of(read_json_file(model.folder + "/config.json"));
  require_writer(head, model.folder);
  storage::require_model_weights(
      model.folder, "--model_name_or_path " + model.folder,
      "the folder of a trained model: --output_dir of a run, or one of its checkpoints");
  const plan::ModelFacts facts = plan::load_model_facts(named, environment, plan::FilesNeeded::kOfRun, head);
  model.architecture = facts.architecture;
  if (model.plugin) require_family_of(*model.plugin, *model.architecture);
  take_settings(flags, generation::read_folder_settings(model.folder), model);
  model.tokenizer = tokenizer::Tokenizer::load(facts.tokenizer_folder);
  model.dtype = facts.auto_dtype;
  model.tied_dtype = facts.opened_dtype;
  return model;
}

const char* why_nothing_is_guessed(const WritingModel& model, const generation::TextSetup& setup) {
  if (model.config.num_beams > 1) return "beams are not guessed ahead";
  if (model.architecture->has_encoder_and_decoder())
    return "only decoders without an encoder are guessed ahead";
  if (model.plugin)
    return "a family of a plug-in reads a text whole for each token, and guesses save nothing";
  return setup.cuda_ordinal >= 0
             ? "a GPU writes the text, where each token of a guess takes as long as a step"
             : nullptr;
}

// Copies are of what takes long to read: float32 weights in a processor's memory.
const char* why_nothing_is_drafted(const WritingModel& model, const generation::TextSetup& setup) {
  if (const char* why = why_nothing_is_guessed(model, setup)) return why;
  return setup.dtype == "float32" ? nullptr : "copies are made of float32 weights";
}

generation::TextSetup setup_of(const WritingModel& model, const GenerateFlags& flags,
                               const Environment& environment) {
  const plan::Topology topology = machine::detect_topology(environment);
  const bool on_gpu = uses_gpu(flags, topology);
  generation::TextSetup setup;
  setup.folder = model.folder;
  setup.adapter = model.adapter;
  setup.tokenizer = model.tokenizer->folder();
  setup.config = model.architecture->config_json();
  setup.head = std::string(architectures::head_word(model.architecture->head()));
  setup.dtype = dtype_of(flags, model.dtype, on_gpu);
  setup.tied_dtype = model.tied_dtype;
  setup.threads = topology.host.requested_threads.value_or(topology.host.usable_cores());
  setup.cuda_ordinal = on_gpu ? 0 : -1;
  setup.drafts = drafts_of(flags, model, setup, topology);
  if (model.plugin) setup.plugin = {model.plugin->name, model.plugin->path, model.plugin->hash};
  return setup;
}

}  // namespace hftrain::app
