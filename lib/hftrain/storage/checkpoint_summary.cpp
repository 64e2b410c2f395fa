#include "hftrain/storage/checkpoint_summary.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::storage {
namespace {

constexpr int kSchema = 1;
constexpr const char* kOptimizerFolder = "optimizer";

std::vector<TensorSummary> summarize_optimizer(const std::string& folder) {
  if (!path_exists(folder)) return {};
  const ShardedState state(folder);
  std::vector<TensorSummary> tensors;
  for (const auto& [name, tensor] : state.tensors()) {
    TensorSummary summary{{name, tensor.dtype, tensor.shape}, {}};
    std::set<std::string> files;
    for (const SafetensorsFile& file : state.files()) {
      if (file.find(name) == nullptr) continue;
      files.insert(std::string(kOptimizerFolder) + '/' +
                   std::filesystem::path(file.path()).filename().string());
    }
    summary.files.assign(files.begin(), files.end());
    tensors.push_back(std::move(summary));
  }
  return tensors;
}

struct Totals {
  uint64_t elements = 0;
  uint64_t bytes = 0;
  std::set<std::string> files;
};

Totals totals_of(const std::vector<TensorSummary>& tensors) {
  Totals totals;
  for (const TensorSummary& tensor : tensors) {
    totals.elements += tensor.entry.elements();
    totals.bytes += tensor.entry.bytes();
    totals.files.insert(tensor.files.begin(), tensor.files.end());
  }
  return totals;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return Json(shape).dump();
}

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string render_tensors(const char* title, const std::vector<TensorSummary>& tensors) {
  const Totals totals = totals_of(tensors);
  std::string text = std::string(title) + ": " + std::to_string(tensors.size()) + " tensors, " +
                     with_thousands(static_cast<int64_t>(totals.elements)) + " numbers, " +
                     format_bytes(totals.bytes) + " in " + std::to_string(totals.files.size()) +
                     (totals.files.size() == 1 ? " file\n" : " files\n");
  size_t name_width = 0, dtype_width = 0, shape_width = 0;
  for (const TensorSummary& tensor : tensors) {
    name_width = std::max(name_width, tensor.entry.name.size());
    dtype_width = std::max(dtype_width, std::string_view(dtype_name(tensor.entry.dtype)).size());
    shape_width = std::max(shape_width, shape_text(tensor.entry.shape).size());
  }
  for (const TensorSummary& tensor : tensors) {
    const std::string place =
        tensor.files.size() == 1 ? tensor.files.front() : std::to_string(tensor.files.size()) + " files";
    text += "  " + padded(tensor.entry.name, name_width) + "  " +
            padded(dtype_name(tensor.entry.dtype), dtype_width) + "  " +
            padded(shape_text(tensor.entry.shape), shape_width) + "  " + place + '\n';
  }
  return text;
}

Json tensors_to_json(const std::vector<TensorSummary>& tensors) {
  const Totals totals = totals_of(tensors);
  Json list = Json::array();
  for (const TensorSummary& tensor : tensors) {
    list.push_back({{"name", tensor.entry.name},
                    {"dtype", dtype_name(tensor.entry.dtype)},
                    {"shape", tensor.entry.shape},
                    {"files", tensor.files}});
  }
  return {{"numbers", totals.elements},
          {"bytes", totals.bytes},
          {"shards", totals.files},
          {"tensors", std::move(list)}};
}

Json manifest_to_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const FileRecord& file : manifest.files) {
    files.push_back({{"path", file.path}, {"size", file.size}, {"hash", file.hash}});
  }
  return {{"step", manifest.step},
          {"world_size", manifest.world_size},
          {"plan", {{"hash", manifest.plan_hash}, {"identity", manifest.identity}}},
          {"hftrain_version", manifest.hftrain_version},
          {"time", manifest.time},
          {"files", std::move(files)}};
}

}  // namespace

std::vector<TensorSummary> summarize_weights(const StoredWeights& weights) {
  std::vector<TensorSummary> tensors;
  for (const TensorEntry& entry : weights.entries()) {
    tensors.push_back({entry, weights.files_of(entry.name)});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorSummary& a, const TensorSummary& b) { return a.entry.name < b.entry.name; });
  return tensors;
}

CheckpointSummary summarize_checkpoint(const std::string& folder) {
  CheckpointSummary summary;
  summary.path = folder;
  if (path_exists(folder + '/' + kManifestName)) summary.manifest = read_manifest(folder);
  for (const FileRecord& file : summary.manifest ? summary.manifest->files : std::vector<FileRecord>()) {
    if (!path_exists(folder + '/' + file.path)) summary.missing.push_back(file.path);
  }
  summary.weights = summarize_weights(holds_adapter_alone(folder) ? StoredWeights(folder, kAdapterName)
                                                                  : StoredWeights(folder));
  summary.optimizer = summarize_optimizer(folder + '/' + kOptimizerFolder);
  return summary;
}

std::string render_summary(const CheckpointSummary& summary) {
  std::string text = summary.path + '\n';
  if (summary.manifest) {
    const Manifest& manifest = *summary.manifest;
    uint64_t bytes = 0;
    for (const FileRecord& file : manifest.files) bytes += file.size;
    text += "step: " + std::to_string(manifest.step) +
            "\nworld size: " + std::to_string(manifest.world_size) + "\nplan: " + manifest.plan_hash +
            "\nwritten by: hftrain " + manifest.hftrain_version +
            "\nfiles: " + std::to_string(manifest.files.size()) + ", " + format_bytes(bytes) + '\n';
    for (const auto& [key, value] : manifest.identity.items()) {
      text += key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + '\n';
    }
  } else if (summary.writer) {
    if (summary.writer->step) text += "step: " + std::to_string(*summary.writer->step) + '\n';
    text += "written by: " + summary.writer->name + '\n';
  } else {
    text += "a model folder without a manifest: not a checkpoint of hftrain\n";
  }
  if (!summary.missing.empty())
    text += "missing: " + join(summary.missing, ", ") + ", so what stands below is not all\n";
  if (!summary.weights.empty()) text += render_tensors("weights", summary.weights);
  if (!summary.optimizer.empty()) text += render_tensors("optimizer", summary.optimizer);
  return text;
}

Json summary_to_json(const CheckpointSummary& summary) {
  Json value = summary.manifest ? manifest_to_json(*summary.manifest) : Json::object();
  value["schema"] = kSchema;
  value["path"] = summary.path;
  if (!summary.missing.empty()) value["missing"] = summary.missing;
  if (summary.writer) value["written_by"] = summary.writer->name;
  if (summary.writer && summary.writer->step) value["step"] = *summary.writer->step;
  value["weights"] = tensors_to_json(summary.weights);
  value["optimizer"] = tensors_to_json(summary.optimizer);
  return value;
}

}  // namespace hftrain::storage
