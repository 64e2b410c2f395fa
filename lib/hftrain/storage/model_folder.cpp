#include "hftrain/storage/model_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/named_path.h"
#include "hftrain/base/text.h"

namespace hftrain::storage {
namespace {

constexpr const char* kCopyAgain = "copy the folder again from where it came from";

Error no_weights(const std::string& folder) {
  refuse_no_folder(folder, folder);
  Error error(ExitCode::kData, "no model weights in the folder");
  error.where(folder);
  if (!path_exists(folder)) return error.why("the folder does not exist").hint("the path of one that does");
  const bool pickled =
      path_exists(folder + "/pytorch_model.bin") || path_exists(folder + "/pytorch_model.bin.index.json");
  if (!pickled)
    return error.why(std::string("it has neither ") + kWeightsName + " nor " + kWeightsIndexName)
        .hint("a folder of save_pretrained, or a checkpoint");
  return error.why("it holds pytorch_model.bin, a Python pickle, which only Python can read")
      .hint("convert it once: python3 -c \"from transformers import AutoModel as M; M.from_pretrained('" +
            folder + "').save_pretrained('" + folder +
            "')\", with the class that fits the task in place of AutoModel");
}

// Shard file -> names of its tensors.
std::map<std::string, std::vector<std::string>> read_index(const std::string& path) {
  const Json index = read_json_file(path);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object() || map->empty()) {
    throw Error(ExitCode::kData, "the index of the weights has no weight_map")
        .where(path)
        .why("it tells in which file each tensor lies")
        .hint(kCopyAgain);
  }
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [name, file] : map->items()) {
    const bool plain = file.is_string() && !file.get<std::string>().empty() &&
                       std::filesystem::path(file.get<std::string>()).filename() == file.get<std::string>();
    if (!plain)
      throw Error(ExitCode::kData, "the index gives no file name for tensor '" + name + "'")
          .where(path)
          .why("a tensor lies in a file of the same folder")
          .hint(kCopyAgain);
    shards[file.get<std::string>()].push_back(name);
  }
  return shards;
}

std::string shard_file_name(size_t number, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

std::string render_index(const ShardPlan& plan) {
  Json map = Json::object();
  uint64_t parameters = 0, size = 0;
  for (const ShardPlan::Shard& shard : plan.shards) {
    for (const TensorEntry& entry : shard.entries) {
      map[entry.name] = shard.file;
      parameters += entry.elements();
      size += entry.bytes();
    }
  }
  const Json index = {{"metadata", {{"total_parameters", parameters}, {"total_size", size}}},
                      {"weight_map", std::move(map)}};
  return dump_json(index) + '\n';
}

}  // namespace

ModelWeights::ModelWeights(const std::string& folder) : folder_(folder) {
  const std::string single = folder + '/' + kWeightsName;
  const std::string index = folder + '/' + kWeightsIndexName;
  // The single file wins, as in transformers.
  if (path_exists(single)) {
    shard_names_.emplace_back(kWeightsName);
    shards_.emplace_back(single);
    add_all(0);
  } else if (path_exists(index)) {
    open_index(index);
  } else {
    throw no_weights(folder);
  }
}

ModelWeights::ModelWeights(const std::string& folder, const std::string& file) : folder_(folder) {
  const std::string path = folder + '/' + file;
  if (!path_exists(path))
    throw Error(ExitCode::kData, "there are no weights")
        .where(path)
        .why("the file is missing")
        .hint(kCopyAgain);
  shard_names_.push_back(file);
  shards_.emplace_back(path);
  add_all(0);
}

void ModelWeights::add_all(size_t shard) {
  for (const StoredTensor& tensor : shards_[shard].tensors()) places_[tensor.entry.name] = {shard, &tensor};
}

void ModelWeights::open_index(const std::string& index_path) {
  const auto index = read_index(index_path);
  shards_.reserve(index.size());
  for (const auto& [file, names] : index) {
    const std::string path = folder_ + '/' + file;
    if (!path_exists(path)) {
      throw Error(ExitCode::kData, "a shard of the weights is missing")
          .where(path)
          .why("named by " + index_path)
          .hint(kCopyAgain);
    }
    shard_names_.push_back(file);
    shards_.emplace_back(path);
    for (const std::string& name : names) {
      const StoredTensor* tensor = shards_.back().find(name);
      if (tensor == nullptr) {
        throw Error(ExitCode::kData, "tensor '" + name + "' is missing from its shard")
            .where(path)
            .why("promised by " + index_path)
            .hint(kCopyAgain);
      }
      places_[name] = {shards_.size() - 1, tensor};
    }
  }
}

std::vector<std::string> ModelWeights::names() const {
  std::vector<std::string> names;
  names.reserve(places_.size());
  for (const auto& [name, place] : places_) names.push_back(name);
  return names;
}

const StoredTensor* ModelWeights::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : found->second.tensor;
}

const StoredTensor& ModelWeights::at(std::string_view name) const {
  if (const StoredTensor* tensor = find(name)) return *tensor;
  Error error(ExitCode::kData, "the model folder has no tensor '" + std::string(name) + "'");
  error.where(folder_);
  const std::vector<std::string> near = nearest_names(name, names());
  error.why(near.empty() ? "no name in it comes near" : "near names in it: " + join(near, ", "));
  error.hint("see whether config.json is that of these weights; `hftrain checkpoint inspect` lists them");
  throw error;
}

std::string ModelWeights::shard_of(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? "" : shard_names_[found->second.shard];
}

bool has_model_weights(const std::string& folder) {
  return path_exists(folder + '/' + kWeightsName) || path_exists(folder + '/' + kWeightsIndexName);
}

bool holds_adapter_alone(const std::string& folder) {
  return path_exists(folder + '/' + kAdapterName) && !has_model_weights(folder);
}

void require_model_weights(const std::string& folder, const std::string& where,
                           const std::string& otherwise) {
  if (has_model_weights(folder)) return;
  const bool pickled =
      path_exists(folder + "/pytorch_model.bin") || path_exists(folder + "/pytorch_model.bin.index.json");
  const bool slices = path_exists(folder + "/model");
  throw Error(ExitCode::kData, "the model folder holds no weights")
      .where(where)
      .why(slices ? "it is a checkpoint of slices" : "there is neither model.safetensors nor its index")
      .hint(pickled
                ? "pytorch_model.bin is a Python pickle and is not read: save the model as safetensors first"
            : slices ? "`hftrain checkpoint export " + folder + " OUT` makes a folder of it"
                     : otherwise);
}

bool is_model_companion(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kExact = {"config.json",
                                                             "generation_config.json",
                                                             "preprocessor_config.json",
                                                             "processor_config.json",
                                                             "added_tokens.json",
                                                             "merges.txt",
                                                             "sentencepiece.bpe.model",
                                                             "spiece.model"};
  static constexpr std::array<std::string_view, 4> kStarts = {"tokenizer", "vocab.", "special_tokens_map.",
                                                              "chat_template."};
  return std::find(kExact.begin(), kExact.end(), name) != kExact.end() ||
         std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

std::vector<std::string> model_companion_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    std::error_code ignored;
    if (is_model_companion(name) && item->is_regular_file(ignored)) names.push_back(name);
  }
  if (error) throw system_error(error.value(), "cannot list", folder, ExitCode::kData);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int64_t> parse_shard_size(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
  const std::string trimmed = trim(text);
  double number = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [rest, error] = std::from_chars(trimmed.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string unit = trim(std::string_view(rest, static_cast<size_t>(end - rest)));
  for (const auto& [name, factor] : kUnits) {
    const bool matches = to_lower(unit) == to_lower(name);
    const double bytes = number * factor;
    if (matches && bytes >= 1 && bytes < 9e18) return static_cast<int64_t>(bytes);
  }
  return std::nullopt;
}

ShardPlan plan_shards(const std::vector<TensorEntry>& entries, int64_t max_shard_bytes) {
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(max_shard_bytes, 1));
  ShardPlan plan;
  ShardPlan::Shard current;
  uint64_t current_bytes = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.bytes() > limit) {
      plan.shards.push_back({"", {entry}});
      continue;
    }
    if (current_bytes + entry.bytes() > limit) {
      plan.shards.push_back(std::move(current));
      current = {};
      current_bytes = 0;
    }
    current.entries.push_back(entry);
    current_bytes += entry.bytes();
  }
  if (!current.entries.empty() || plan.shards.empty()) plan.shards.push_back(std::move(current));

  if (plan.shards.size() == 1) {
    plan.shards.front().file = kWeightsName;
    return plan;
  }
  for (size_t i = 0; i < plan.shards.size(); ++i)
    plan.shards[i].file = shard_file_name(i + 1, plan.shards.size());
  plan.index = render_index(plan);
  return plan;
}

}  // namespace hftrain::storage
