#include "hftrain/plan/model_facts.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/arguments/compat.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/data/data_files.h"
#include "hftrain/generation/folder_settings.h"
#include "hftrain/images/preprocessor.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/release_habits.h"
#include "hftrain/plan/stored_adapter.h"
#include "hftrain/plan/stored_ties.h"
#include "hftrain/plan/tokenizer_pattern.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/tokenizer/named_tokens.h"
#include "hftrain/tokenizer/tokenizer_classes.h"
#include "hftrain/tokenizer/tokenizer_file.h"

namespace hftrain::plan {
namespace {

using architectures::Architecture;

// transformers writes 1e30 where a tokenizer has no limit.
constexpr double kUnlimitedLength = 1e15;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// config_name may also be the file itself.
std::string config_path(const std::string& named, const std::string& flag,
                        const arguments::ModelArguments& model, const HubCache& cache) {
  if (ends_with(named, ".json")) return named;
  return resolve_model_folder(named, flag, model.model_revision, cache) + "/config.json";
}

// The first file of a sharded model.
std::string first_weights_file(const std::string& folder) {
  const std::string single = folder + '/' + storage::kWeightsName;
  if (path_exists(single)) return single;
  const std::string path = folder + '/' + storage::kWeightsIndexName;
  const Json index = read_json_file(path);
  const Json files = index.value("weight_map", Json::object());
  if (!files.is_object() || files.empty() || !files.begin()->is_string()) {
    throw Error(ExitCode::kData, "the index of the weights names no file")
        .where(path)
        .why("its weight_map tells in which file each tensor lies")
        .hint("copy the folder again from where the model came from");
  }
  return folder + '/' + files.begin()->get<std::string>();
}

// The dtype of the first floating-point tensor by name, in torch's words.
std::string dtype_of_weights(const std::string& path) {
  const storage::SafetensorsFile file(path);
  std::map<std::string_view, storage::DType> by_name;
  for (const storage::StoredTensor& tensor : file.tensors()) by_name[tensor.entry.name] = tensor.entry.dtype;
  for (const auto& [name, dtype] : by_name) {
    if (dtype == storage::DType::kBF16) return "bfloat16";
    if (dtype == storage::DType::kF16) return "float16";
    if (dtype == storage::DType::kF32) return "float32";
  }
  throw Error(ExitCode::kData, "the weights are in no type that can be trained")
      .where(path)
      .why("float32, bfloat16 and float16 can")
      .hint("save the model in one of these with save_pretrained");
}

// "torch.bfloat16" is how some tools write it.
std::string auto_dtype(const arguments::ModelArguments& model, const Json& config,
                       const std::string& folder) {
  if (model.dtype != "auto") return "float32";
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!config.contains(key) || !config[key].is_string() || config[key] == "auto") continue;
    std::string name = config[key].get<std::string>();
    if (name.starts_with("torch.")) name.erase(0, 6);
    for (const char* known : {"float32", "bfloat16", "float16"}) {
      if (name == known) return name;
    }
    throw Error(ExitCode::kData, "the model's " + std::string(key) + " cannot be trained in")
        .where(folder + "/config.json")
        .why("it is " + name + "; float32, bfloat16 and float16 can")
        .hint("--dtype float32");
  }
  return storage::has_model_weights(folder) ? dtype_of_weights(first_weights_file(folder)) : "float32";
}

// A plan for other machines does without the shards that are not here.
std::unique_ptr<const storage::ModelWeights> open_weights(const std::string& folder, FilesNeeded needed) {
  if (!storage::has_model_weights(folder)) return nullptr;
  try {
    return std::make_unique<storage::ModelWeights>(folder);
  } catch (const Error&) {
    if (needed == FilesNeeded::kOfRun) throw;
    return nullptr;
  }
}

void take_files(const storage::ModelWeights& weights, const std::string& origin, ModelFacts& facts) {
  auto stored = as_stored(facts.architecture, weights, origin, facts.opened_dtype);
  facts.has_own_matrix =
      stored != facts.architecture && stored->config_json().value("tie_word_embeddings", Json()) == false;
  facts.architecture = std::move(stored);
  facts.lacking = lacking_parameters(*facts.architecture, weights);
  for (const std::string& name : weights.names())
    facts.stored_shapes[name] = {weights.at(name).entry.shape, weights.shard_of(name)};
}

// An adapter with a head of its own keeps its labels in a config.json beside it.
void take_labels(const std::string& adapter_folder, Json& config) {
  const std::string path = adapter_folder + "/config.json";
  if (adapter_folder.empty() || !path_exists(path) || !config.is_object()) return;
  const Json own = read_json_file(path);
  for (const char* key : {"id2label", "label2id", "num_labels", "problem_type", "architectures"}) {
    if (own.is_object() && own.contains(key)) config[key] = own[key];
  }
}

// A plan for other machines does without the file, as without shards.
void take_adapter_file(FilesNeeded needed, ModelFacts& facts) {
  if (!facts.adapter) return;
  const std::string path = facts.adapter_folder + '/' + architectures::kAdapterWeightsName;
  if (needed == FilesNeeded::kOfPlan && !path_exists(path)) return facts.missing.push_back(path);
  const storage::ModelWeights file(facts.adapter_folder, architectures::kAdapterWeightsName);
  facts.adapter = as_stored(std::move(*facts.adapter), facts.architecture->parameters(), file);
  for (const std::string& name : file.names())
    facts.adapter_shapes[name] = {file.at(name).entry.shape, architectures::kAdapterWeightsName};
}

void load_model(const arguments::ModelArguments& model, const HubCache& cache, FilesNeeded needed,
                architectures::Head head, ModelFacts& facts) {
  if (model.model_name_or_path) {
    facts.source_folder =
        resolve_model_folder(*model.model_name_or_path, "--model_name_or_path", model.model_revision, cache);
    const OpenedFolder opened = open_folder(facts.source_folder, model.model_revision, cache);
    facts.source_folder = opened.weights;
    const bool by_adapter = !opened.adapter.empty();
    facts.hub_name = by_adapter ? opened.base_name : name_on_hub(*model.model_name_or_path);
    facts.hub_revision = by_adapter ? opened.base_revision : model.model_revision;
    facts.adapter_folder = opened.adapter;
    facts.adapter = opened.spec;
    facts.adapter_config = opened.config;
    if (needed == FilesNeeded::kOfRun)
      storage::require_model_weights(
          facts.source_folder, "--model_name_or_path " + facts.source_folder,
          "to train from scratch with this configuration: --config_name " + facts.source_folder);
    if (!storage::has_model_weights(facts.source_folder))
      facts.missing.push_back("the weights of " + facts.source_folder);
  }
  if (!model.model_name_or_path && !model.config_name) {
    if (!model.model_type) {
      throw Error(ExitCode::kUsage, "there is no model")
          .where("command line")
          .why("neither a model nor a kind of model is named")
          .hint("--model_name_or_path FOLDER, or --model_type " + Architecture::model_types().front() +
                " to train from scratch");
    }
    facts.architecture =
        Architecture::from_scratch(*model.model_type, model.config_overrides.value_or(""), head);
    return;
  }
  const std::string path = model.config_name ? config_path(*model.config_name, "--config_name", model, cache)
                                             : facts.source_folder + "/config.json";
  Json config = read_json_file(path);
  take_labels(facts.adapter_folder, config);
  facts.architecture = Architecture::from_config(config, path, head);
  if (facts.source_folder.empty()) return;
  facts.has_head =
      config.value("architectures", Json()) == facts.architecture->config_json().at("architectures");
  if (const auto weights = open_weights(facts.source_folder, needed)) {
    const std::string asked = model.dtype.value_or("auto");
    facts.opened_dtype = asked == "auto" ? opened_dtype(config, *weights) : asked;
    take_files(*weights, path, facts);
  }
  take_adapter_file(needed, facts);
  facts.auto_dtype = auto_dtype(model, config, facts.source_folder);
}

// Of the flag, else of the model's folder, where config.json may stand for it.
void load_generation_config(const arguments::Arguments& arguments, const HubCache& cache, ModelFacts& facts) {
  const std::optional<std::string>& named = arguments.evaluation.generation_config;
  std::string path = facts.source_folder + "/generation_config.json";
  if (named) {
    const bool is_file = path_exists(*named) && !is_folder(*named);
    path = is_file
               ? *named
               : resolve_model_folder(*named, "--generation_config", arguments.model.model_revision, cache) +
                     "/generation_config.json";
    if (!path_exists(path)) {
      throw Error(ExitCode::kData, "there is no generation_config.json")
          .where("--generation_config " + *named)
          .why("a folder of that name has none")
          .hint("a folder with one, or the file itself");
    }
  } else if (facts.source_folder.empty()) {
    return;
  } else if (!path_exists(path)) {
    const generation::FolderSettings found = generation::read_folder_settings(facts.source_folder);
    facts.generation_config = dump_json(found.values) + '\n';
    facts.generation_config_origin = found.origin;
    return;
  }
  facts.generation_config = read_file(path);
  if (trim(facts.generation_config).empty())  // which would be taken for no such file
    throw Error(ExitCode::kData, "the generation config is empty")
        .where(path)
        .why("there is no JSON in it")
        .hint("mend or remove the file; without it one is made from config.json");
  facts.generation_config_origin = std::move(path);
}

bool all_tokenised(const arguments::DataArguments& data) {
  std::vector<std::string> all;
  for (const auto* list : {&data.train_file, &data.validation_file, &data.test_file})
    all.insert(all.end(), list->begin(), list->end());
  return !all.empty() && data::names_token_files(all);
}

// Of a file that need not be there.
Json object_in(const std::string& path) {
  Json found = path_exists(path) ? read_json_file(path) : Json();
  return found.is_object() ? found : Json::object();
}

// Whether the tokenizer gives types of tokens: model_input_names says so, or the class that opens the folder.
bool names_types(const std::string& folder, const Json& config, ReleaseHabits habits) {
  const Json inputs = config.value("model_input_names", Json());
  if (inputs.is_array()) return std::ranges::count(inputs, Json("token_type_ids")) > 0;
  if (habits.gives_types_with_every_tokenizer()) return true;
  return tokenizer::class_gives_types(tokenizer::class_of_folder(folder));
}

void load_tokenizer_config(ReleaseHabits habits, ModelFacts& facts) {
  const std::string path = facts.tokenizer_folder + "/tokenizer_config.json";
  const Json config = object_in(path);
  facts.tokenizer_names_types = names_types(facts.tokenizer_folder, config, habits);
  const Json name = config.value("tokenizer_class", Json()), limit = config.value("model_max_length", Json());
  if (name.is_string()) facts.tokenizer_class = name.get<std::string>();
  const double number = limit.is_number() ? limit.get<double>() : kUnlimitedLength + 1;
  if (number > kUnlimitedLength) return;
  if (number < 1)
    throw Error(ExitCode::kData, "model_max_length must be 1 or more")
        .where(path)
        .why("it is the longest text that the model takes, in tokens")
        .hint("correct it, or take the key out: then the model's positions count");
  facts.tokenizer_max_length = static_cast<int64_t>(number);
}

void load_tokenizer(const arguments::Arguments& arguments, const HubCache& cache, FilesNeeded needed,
                    ModelFacts& facts) {
  const arguments::ModelArguments& model = arguments.model;
  if (!model.tokenizer_name && !model.model_name_or_path) {
    if (all_tokenised(arguments.data)) return;
    throw Error(ExitCode::kData, "there is no tokenizer")
        .where("--tokenizer_name")
        .why("a model from scratch brings none")
        .hint("--tokenizer_name FOLDER; `hftrain tokenizer train` makes one");
  }
  facts.tokenizer_folder =
      model.tokenizer_name
          ? resolve_model_folder(*model.tokenizer_name, "--tokenizer_name", model.model_revision, cache)
          : facts.source_folder;
  if (!model.tokenizer_name && !facts.adapter_folder.empty() &&
      path_exists(facts.adapter_folder + "/tokenizer.json"))
    facts.tokenizer_folder = facts.adapter_folder;
  if (!path_exists(facts.tokenizer_folder + "/tokenizer.json")) {
    if (!model.tokenizer_name && all_tokenised(arguments.data)) return facts.tokenizer_folder.clear();
    if (!model.tokenizer_name && needed == FilesNeeded::kOfPlan) {
      facts.missing.push_back("tokenizer.json of " + facts.tokenizer_folder);
      return facts.tokenizer_folder.clear();
    }
    tokenizer::tokenizer_file(facts.tokenizer_folder);  // which says what is there instead
  }
  load_tokenizer_config(ReleaseHabits{arguments::asked_release(arguments)}, facts);
  const std::string pattern = facts.architecture->tokenizer_pattern();
  if (!pattern.empty())
    facts.tokenizer_opens_otherwise =
        unlike_pattern(read_json_file(facts.tokenizer_folder + "/tokenizer.json"), pattern);
}

// The model's own may be missing.
void load_preprocessor(const arguments::ModelArguments& model, const HubCache& cache, ModelFacts& facts) {
  const std::optional<std::string>& named = model.image_processor_name;
  const std::string folder =
      named ? resolve_model_folder(*named, "--image_processor_name", model.model_revision, cache)
            : facts.source_folder;
  if (!named && folder.empty()) return;
  const std::string whole = folder + '/' + images::kProcessorName;
  if (path_exists(whole)) {
    const Json processor = read_json_file(whole);
    if (processor.is_object()) facts.preprocessor = processor.value(images::kNestedPreprocessor, Json());
    facts.preprocessor_origin = whole;
    if (!facts.preprocessor.is_null()) return;
  }
  const std::string path = folder + '/' + images::kPreprocessorName;
  if (!named && !path_exists(path)) return facts.preprocessor_origin.clear();
  facts.preprocessor = read_json_file(path);
  facts.preprocessor_origin = path;
}

}  // namespace

ModelFacts load_model_facts(const arguments::Arguments& arguments, const Environment& environment,
                            FilesNeeded needed, architectures::Head head) {
  const HubCache cache = hub_cache(arguments.model.cache_dir, environment);
  ModelFacts facts;
  load_model(arguments.model, cache, needed, head, facts);
  if (generates(head)) load_generation_config(arguments, cache, facts);
  if (sees_images(head)) {
    load_preprocessor(arguments.model, cache, facts);
  } else {
    load_tokenizer(arguments, cache, needed, facts);
  }
  return facts;
}

}  // namespace hftrain::plan
