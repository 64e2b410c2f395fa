#include "hftrain/storage/model_export.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.json";

void check_target(const std::string& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::not_found) return;
  if (status.type() == fs::file_type::directory && fs::is_empty(target, error)) return;
  throw Error(ExitCode::kUsage, "the folder to export to is not empty")
      .where(target)
      .hint("name a folder that does not exist yet");
}

// Only the files that will be read: the optimizer state may be twice the size of the weights.
void verify_sources(const std::string& checkpoint, const ModelWeights& weights) {
  if (!path_exists(checkpoint + '/' + kManifestName)) return;
  std::vector<std::string> wanted = model_companion_files(checkpoint);
  for (const SafetensorsFile& shard : weights.shards())
    wanted.push_back(fs::path(shard.path()).filename().string());
  std::vector<FileRecord> records = read_manifest(checkpoint).files;
  std::erase_if(records, [&](const FileRecord& record) {
    return std::find(wanted.begin(), wanted.end(), record.path) == wanted.end();
  });
  const Verification result = verify_files(checkpoint, records);
  if (result.ok) return;
  throw Error(ExitCode::kData, "a file of the checkpoint is damaged")
      .where(checkpoint + '/' + result.file)
      .why("it " + result.reason)
      .hint("export another checkpoint of the run");
}

// File by file, and in each in the order of its bytes, so that the copy reads the disk forwards.
std::vector<TensorEntry> entries_in_order(const ModelWeights& weights) {
  std::vector<TensorEntry> entries;
  for (const SafetensorsFile& shard : weights.shards()) {
    for (const StoredTensor& tensor : shard.tensors()) {
      if (weights.find(tensor.entry.name) == &tensor) entries.push_back(tensor.entry);
    }
  }
  return entries;
}

ExportResult write_weights(const ModelWeights& weights, int64_t max_shard_bytes, StagedFiles& target) {
  ExportResult result;
  const ShardPlan plan = plan_shards(entries_in_order(weights), max_shard_bytes);
  for (const ShardPlan::Shard& shard : plan.shards) {
    SafetensorsWriter writer = target.open_safetensors(shard.file, shard.entries);
    for (const TensorEntry& entry : std::vector<TensorEntry>(writer.entries())) {
      writer.write(entry.name, weights.at(entry.name).bytes);
      result.bytes += entry.bytes();
      ++result.tensors;
    }
    target.close(writer);
  }
  if (!plan.index.empty()) target.put(kWeightsIndexName, plan.index);
  return result;
}

}  // namespace

ExportResult export_model(FileSystem& files, const std::string& checkpoint, const std::string& target,
                          int64_t max_shard_bytes) {
  check_target(target);
  if (!path_exists(checkpoint + '/' + kConfigName)) {
    throw Error(ExitCode::kData, "not a model folder or checkpoint")
        .where(checkpoint)
        .why("it has no config.json");
  }
  const ModelWeights weights(checkpoint);
  verify_sources(checkpoint, weights);

  const fs::path place = fs::absolute(target).lexically_normal();
  const fs::path folder = place.has_filename() ? place : place.parent_path();
  const std::string temporary = folder.string() + ".tmp-" + std::to_string(::getpid());
  files.make_directory(temporary);
  try {
    StagedFiles staged(files, temporary);
    ExportResult result = write_weights(weights, max_shard_bytes, staged);
    for (const std::string& name : model_companion_files(checkpoint)) {
      staged.copy_from(checkpoint + '/' + name, name);
    }
    staged.sync_names();
    files.rename(temporary, folder.string());
    files.sync_directory(folder.parent_path().string());
    result.files = staged.records().size();
    return result;
  } catch (...) {
    try {
      files.remove(temporary);
    } catch (...) {  // the first failure is the one to report
    }
    throw;
  }
}

}  // namespace hftrain::storage
