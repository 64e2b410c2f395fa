#include "hftrain/storage/model_export.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
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
      .why("a model's files would stand among those that are there")
      .hint("name a folder that does not exist yet");
}

void refuse_adapter(const std::string& folder) {
  if (!holds_adapter_alone(folder)) return;
  throw Error(ExitCode::kData, "the folder holds an adapter and no model")
      .where(folder)
      .why("the weights that it stands beside are those of its base model")
      .hint("`hftrain checkpoint merge " + folder + " OUT` makes one model of both");
}

// Of the model that is written: what no other program would read is told here, before the weights are copied beside it. A
// family that is not known is copied as any other.
void require_config(const std::string& checkpoint, const ExportOptions& options) {
  if (options.texts.contains(kConfigName)) return;
  const std::string over = options.over + '/' + kConfigName;
  const std::string path = !options.over.empty() && path_exists(over) ? over : checkpoint + '/' + kConfigName;
  const Json config = read_json_file(path, static_cast<int>(ExitCode::kData));
  if (config.is_object()) return;
  throw Error(ExitCode::kData, "a model config must be a JSON object")
      .where(path)
      .why("it is " + std::string(config.type_name()))
      .hint("the config.json of a model");
}

// Whether the manifest's file is one that is read, or would be were it there.
bool is_of_model(const std::string& path, const std::vector<std::string>& weights) {
  return std::find(weights.begin(), weights.end(), path) != weights.end() ||
         path.starts_with(std::string(kShardedModelFolder) + '/') || is_model_companion(path);
}

// Only the files that will be read: the optimizer state may be twice the size of the weights. One that is gone nobody would miss: the
// slices that are left add up to smaller tensors.
void verify_sources(const std::string& checkpoint, const StoredWeights& weights,
                    const std::function<void()>& between) {
  if (!path_exists(checkpoint + '/' + kManifestName)) {
    if (!weights.sharded()) return;
    throw Error(ExitCode::kData, "a checkpoint in parts has no manifest")
        .where(checkpoint)
        .why(std::string("without ") + kManifestName + " nobody can say whether all parts are there")
        .hint("export another checkpoint of the run");
  }
  std::vector<FileRecord> records = read_manifest(checkpoint).files;
  std::erase_if(records,
                [&](const FileRecord& record) { return !is_of_model(record.path, weights.files()); });
  const Verification result = verify_files(checkpoint, records, 4, [&](uint64_t) { between(); });
  if (result.ok) return;
  const bool gone = !path_exists(checkpoint + '/' + result.file);
  throw Error(ExitCode::kData,
              gone ? "a file of the checkpoint is not there" : "a file of the checkpoint is damaged")
      .where(checkpoint + '/' + result.file)
      .why("it " + result.reason)
      .hint(std::string(gone ? "put it back, or " : "") + "export another checkpoint of the run");
}

// As they are.
std::vector<ExportedTensor> tensors_of(const StoredWeights& weights) {
  std::vector<ExportedTensor> tensors;
  for (const TensorEntry& entry : weights.entries()) {
    const auto read = [&weights, name = entry.name](const Box& rows, std::span<char> bytes) {
      weights.read(name, rows, bytes);
    };
    tensors.push_back({entry, read});
  }
  return tensors;
}

void write_tensor(const ExportedTensor& tensor, const std::function<void()>& between,
                  std::vector<char>& buffer, SafetensorsWriter& writer) {
  const TensorEntry& entry = tensor.entry;
  const auto width = static_cast<uint64_t>(std::max(1, dtype_bits(entry.dtype) / 8));
  const Box whole{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
  for (const Box& rows : row_groups(whole, kBufferBytes / width)) {
    between();
    buffer.resize(volume(rows) * width);
    tensor.read(rows, buffer);
    writer.write(entry.name, {buffer.data(), buffer.size()});
  }
}

ExportResult write_weights(const std::vector<ExportedTensor>& tensors, int64_t max_shard_bytes,
                           const std::function<void()>& between, StagedFiles& target) {
  ExportResult result;
  std::vector<char> buffer;
  std::vector<TensorEntry> entries;
  std::map<std::string, const ExportedTensor*> by_name;
  for (const ExportedTensor& tensor : tensors) {
    entries.push_back(tensor.entry);
    by_name[tensor.entry.name] = &tensor;
  }
  const ShardPlan plan = plan_shards(entries, max_shard_bytes);
  for (const ShardPlan::Shard& shard : plan.shards) {
    SafetensorsWriter writer = target.open_safetensors(shard.file, shard.entries);
    for (const TensorEntry& entry : std::vector<TensorEntry>(writer.entries())) {
      write_tensor(*by_name.at(entry.name), between, buffer, writer);
      result.bytes += entry.bytes();
      ++result.tensors;
    }
    target.close(writer);
  }
  if (!plan.index.empty()) target.put(kWeightsIndexName, plan.index);
  return result;
}

// Each from the folder that comes last.
void write_companions(const std::string& checkpoint, const ExportOptions& options, StagedFiles& target) {
  std::map<std::string, std::string> sources;
  for (const std::string& folder : {checkpoint, options.over}) {
    if (folder.empty()) continue;
    for (const std::string& name : model_companion_files(folder)) sources[name] = folder;
  }
  for (const auto& [name, text] : options.texts) {
    sources.erase(name);
    target.put(name, text);
  }
  for (const auto& [name, source] : sources) target.copy_from(source + '/' + name, name);
}

}  // namespace

ExportResult export_model(FileSystem& files, const std::string& checkpoint, const std::string& target,
                          const ExportOptions& options) {
  check_target(target);
  if (options.weights == nullptr) refuse_adapter(checkpoint);
  const bool described = path_exists(checkpoint + '/' + kConfigName) ||
                         (!options.over.empty() && path_exists(options.over + '/' + kConfigName));
  if (!described) {
    throw Error(ExitCode::kData, "not a model folder or checkpoint")
        .where(checkpoint)
        .why("it has no config.json")
        .hint(
            "of a checkpoint that others saved in parts: `hftrain checkpoint export DIR OUT "
            "--model_name_or_path MODEL` "
            "takes the configuration of the model that was trained");
  }
  require_config(checkpoint, options);
  std::optional<StoredWeights> opened;
  if (options.weights == nullptr) opened.emplace(checkpoint);
  const StoredWeights& weights = opened ? *opened : *options.weights;
  const std::function<void()> between = options.between ? options.between : [] {};
  verify_sources(checkpoint, weights, between);

  const fs::path place = fs::absolute(target).lexically_normal();
  const fs::path folder = place.has_filename() ? place : place.parent_path();
  const std::string temporary = folder.string() + ".tmp-" + random_name();
  files.make_directory(temporary);
  try {
    StagedFiles staged(files, temporary);
    ExportResult result = write_weights(options.tensors.empty() ? tensors_of(weights) : options.tensors,
                                        options.max_shard_bytes, between, staged);
    write_companions(checkpoint, options, staged);
    staged.sync_names();
    between();
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
