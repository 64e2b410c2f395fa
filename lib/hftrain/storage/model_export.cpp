#include "hftrain/storage/model_export.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/new_file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "config.json";
constexpr uint64_t kBufferBytes = uint64_t{8} << 20;  // of weights on their way

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
void verify_sources(const std::string& checkpoint, const StoredWeights& weights) {
  if (!path_exists(checkpoint + '/' + kManifestName)) return;
  std::vector<std::string> wanted = model_companion_files(checkpoint);
  for (const std::string& file : weights.files()) wanted.push_back(file);
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

void copy_tensor(const StoredWeights& weights, const TensorEntry& entry, std::vector<char>& buffer,
                 const RowsChange& change, SafetensorsWriter& writer) {
  const auto width = static_cast<uint64_t>(std::max(1, dtype_bits(entry.dtype) / 8));
  const Box whole{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
  for (const Box& rows : row_groups(whole, kBufferBytes / width)) {
    buffer.resize(volume(rows) * width);
    weights.read(entry.name, rows, buffer);
    if (change) change(entry, rows, buffer);
    writer.write(entry.name, {buffer.data(), buffer.size()});
  }
}

ExportResult write_weights(const StoredWeights& weights, const ExportOptions& options, StagedFiles& target) {
  ExportResult result;
  std::vector<char> buffer;
  const ShardPlan plan = plan_shards(weights.entries(), options.max_shard_bytes);
  for (const ShardPlan::Shard& shard : plan.shards) {
    SafetensorsWriter writer = target.open_safetensors(shard.file, shard.entries);
    for (const TensorEntry& entry : std::vector<TensorEntry>(writer.entries())) {
      copy_tensor(weights, entry, buffer, options.change, writer);
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
                          const ExportOptions& options) {
  check_target(target);
  if (!path_exists(checkpoint + '/' + kConfigName)) {
    throw Error(ExitCode::kData, "not a model folder or checkpoint")
        .where(checkpoint)
        .why("it has no config.json");
  }
  const StoredWeights weights(checkpoint);
  verify_sources(checkpoint, weights);

  const fs::path place = fs::absolute(target).lexically_normal();
  const fs::path folder = place.has_filename() ? place : place.parent_path();
  const std::string temporary = folder.string() + ".tmp-" + random_name();
  files.make_directory(temporary);
  try {
    StagedFiles staged(files, temporary);
    ExportResult result = write_weights(weights, options, staged);
    if (options.check) options.check();
    std::map<std::string, std::string> companions;  // by name: the folder that it is taken from
    for (const std::string& name : model_companion_files(checkpoint)) companions[name] = checkpoint;
    if (!options.over.empty()) {
      for (const std::string& name : model_companion_files(options.over)) companions[name] = options.over;
    }
    for (const auto& [name, source] : companions) staged.copy_from(source + '/' + name, name);
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
