#include "hftrain/storage/stored_weights.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/float_numbers.h"

namespace hftrain::storage {
namespace {

const std::vector<SafetensorsFile>& files_of_layout(const std::optional<ModelWeights>& whole,
                                                    const std::optional<ShardedState>& slices) {
  static const std::vector<SafetensorsFile> kNone;
  if (whole) return whole->shards();
  return slices ? slices->files() : kNone;
}

}  // namespace

StoredWeights::StoredWeights(const std::string& folder) : folder_(folder) {
  const std::string sharded = folder + '/' + kShardedModelFolder;
  const bool as_slices = !has_model_weights(folder) && path_exists(sharded);
  if (as_slices) {
    slices_.emplace(sharded);
    add_slices();
  } else {
    whole_.emplace(folder);
    add_whole_tensors();
  }
  for (size_t i = 0; i < entries_.size(); ++i) positions_[entries_[i].name] = i;
}

StoredWeights::StoredWeights(const std::string& folder, const std::string& file) : folder_(folder) {
  whole_.emplace(folder, file);
  add_whole_tensors();
  for (size_t i = 0; i < entries_.size(); ++i) positions_[entries_[i].name] = i;
}

StoredWeights::StoredWeights(FoundWeights found)
    : folder_(found.folder), found_(std::move(found)), tensors_(std::move(found_.tensors)) {
  for (const auto& [name, tensor] : tensors_) entries_.push_back({name, tensor.dtype, tensor.shape});
  for (size_t i = 0; i < entries_.size(); ++i) positions_[entries_[i].name] = i;
}

void StoredWeights::add_whole_tensors() {
  for (const SafetensorsFile& file : whole_->shards()) {
    for (const StoredTensor& stored : file.tensors()) {
      const TensorEntry& entry = stored.entry;
      if (whole_->find(entry.name) != &stored) continue;  // the index names another shard
      const Box box{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
      tensors_[entry.name] = {entry.name, entry.dtype, entry.shape, {{box, &stored}}};
      entries_.push_back(entry);
    }
  }
}

void StoredWeights::add_slices() {
  tensors_ = slices_->tensors();
  for (const auto& [name, tensor] : tensors_) entries_.push_back({name, tensor.dtype, tensor.shape});
  if (!entries_.empty()) return;
  throw Error(ExitCode::kData, "no model weights in the folder")
      .where(folder_ + '/' + kShardedModelFolder)
      .why("it holds no .safetensors file")
      .hint("name another checkpoint, or the folder of a model");
}

const TensorEntry* StoredWeights::find(std::string_view name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &entries_[found->second];
}

const SlicedTensor& StoredWeights::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  throw Error(ExitCode::kData, "the weights have no tensor '" + std::string(name) + "'")
      .where(folder_)
      .why("neither a file nor a shard in it holds one of that name")
      .hint("see what it holds by `hftrain checkpoint inspect`");
}

void StoredWeights::read(std::string_view name, const Box& wanted, std::span<char> out) const {
  read_box(at(name), wanted, out, folder_);
}

bool StoredWeights::same_numbers(const TensorEntry& one, const TensorEntry& other, const Box& part,
                                 DType as) const {
  constexpr uint64_t kNumbers = uint64_t{1} << 20;  // compared at once
  const auto bytes_of = [&](const TensorEntry& entry, const Box& rows) {
    std::vector<char> bytes(volume(rows) * static_cast<uint64_t>(dtype_bits(entry.dtype)) / 8);
    read(entry.name, rows, bytes);
    return bytes;
  };
  const std::vector<Box> groups = row_groups(part, kNumbers);
  return std::all_of(groups.begin(), groups.end(), [&](const Box& rows) {
    return storage::same_numbers(one.dtype, bytes_of(one, rows), other.dtype, bytes_of(other, rows), as);
  });
}

std::vector<std::string> StoredWeights::files() const {
  std::vector<std::string> names;
  for (const auto& [name, files] : found_.files) names.insert(names.end(), files.begin(), files.end());
  for (const SafetensorsFile& file : files_of_layout(whole_, slices_)) {
    names.push_back(std::filesystem::path(file.path()).lexically_relative(folder_).string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> StoredWeights::files_of(std::string_view name) const {
  if (const auto found = found_.files.find(name); found != found_.files.end()) return found->second;
  std::vector<std::string> names;
  const SlicedTensor& tensor = at(name);
  for (const SafetensorsFile& file : files_of_layout(whole_, slices_)) {
    const StoredTensor* stored = file.find(name);
    const bool holds = std::any_of(tensor.slices.begin(), tensor.slices.end(),
                                   [&](const auto& slice) { return slice.stored == stored; });
    if (holds) names.push_back(std::filesystem::path(file.path()).lexically_relative(folder_).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hftrain::storage
