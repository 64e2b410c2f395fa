#include "hftrain/interchange/frozen_parameters.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "hftrain/base/file.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/folder_names.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::interchange {
namespace {

using Kind = TorchValue::Kind;

std::string file_name(const TorchFile& file) {
  return std::filesystem::path(file.path()).filename().string();
}

// Of stage 3 in the order of the ranks; none where there is no such file.
std::vector<std::string> files_of_model(const std::string& folder) {
  if (path_exists(folder + '/' + kModelFile)) return {kModelFile};
  return files_of_ranks(folder, kEndOfModelPart);
}

}  // namespace

FrozenParameters::FrozenParameters(const DeepSpeedState& saved, Checksums checksums)
    : shapes_(saved.shapes()) {
  for (const DeepSpeedParameter& parameter : saved.parameters()) {
    if (parameter.weights) trained_.insert(parameter.name);
  }
  const std::string& folder = shapes_.folder();
  if (!path_exists(folder)) return;
  for (const std::string& name : files_of_model(folder)) {
    const TorchFile& file = files_.emplace_back(folder + '/' + name, kDeepSpeedRecords);
    if (checksums == Checksums::kCompared) file.check();
  }
  if (files_.empty()) return;
  tensors_.allow_parts(files_.size());
  if (file_name(files_.front()) == kModelFile) {
    add_whole(files_.front());
  } else {
    add_buffers(files_.front());
    add_shares();
    refuse_missing(files_.front());
  }
}

// Of a dict by names; nothing where the file has none.
FrozenParameters::Values FrozenParameters::values_of(const TorchFile& file, const char* key) {
  Values values;
  const std::optional<TorchValue> dict = file.root().find(key);
  if (!dict || dict->kind() != Kind::kDict) return values;
  if (dict->count(key) > kMostTensors) throw not_of_deepspeed(file.path(), "it has too many parameters");
  for (const auto& [name, value] : dict->pairs(key))
    values.insert_or_assign(name.text("the name of a parameter"), value);
  return values;
}

bool FrozenParameters::is_elsewhere(const std::string& name) const {
  if (trained_.count(name) != 0) return true;
  const auto& seconds = shapes_.second_names();
  if (!seconds) return false;
  const auto second = seconds->find(name);
  return second != seconds->end() && (trained_.count(second->second) != 0 || all_.count(second->second) != 0);
}

// Tied tensors lie in the file once.
void FrozenParameters::add_whole(const TorchFile& file) {
  const Values module = values_of(file, "module");
  std::set<const char*> taken;
  for (const auto& [name, value] : module) {
    if (value.kind() == Kind::kTensor && is_elsewhere(std::string(name)))
      taken.insert(value.tensor("a parameter").bytes.data());
  }
  for (const auto& [text, value] : module) {
    const std::string name(text);
    if (value.kind() != Kind::kTensor || is_elsewhere(name)) continue;
    const PickledTensor& tensor = value.tensor("a parameter");
    if (!tensor.bytes.empty() && taken.count(tensor.bytes.data()) != 0) continue;
    all_.emplace(name, Tensor{tensors_.add(name, value, tensor.shape, file.path()), {file_name(file)}});
  }
}

void FrozenParameters::add_buffers(const TorchFile& file) {
  const std::optional<TorchValue> names = file.root().find("buffer_names");
  if (!names || names->kind() != Kind::kList) return;
  if (names->count("buffer_names") > kMostTensors)
    throw not_of_deepspeed(file.path(), "it has too many buffers");
  const Values module = values_of(file, "module");
  for (const TorchValue& item : names->items("buffer_names")) {
    const std::string& name = item.text("the name of a buffer");
    const auto found = module.find(name);
    if (found == module.end() || found->second.kind() != Kind::kTensor || all_.count(name) != 0) continue;
    const std::vector<int64_t>& shape = found->second.tensor("a buffer").shape;
    all_.emplace(name, Tensor{tensors_.add(name, found->second, shape, file.path()), {file_name(file)}});
  }
}

void FrozenParameters::add_shares() {
  std::vector<Values> shares;
  for (const TorchFile& file : files_) shares.push_back(values_of(file, "frozen_param_fragments"));
  for (const auto& [text, shape] : values_of(files_.front(), "frozen_param_shapes")) {
    const std::string name(text);
    if (!is_elsewhere(name) && all_.count(name) == 0) add_shares_of(name, shape, shares);
  }
}

// Each is as long as the others; the last ones may be filled up.
void FrozenParameters::add_shares_of(const std::string& name, const TorchValue& shape,
                                     const std::vector<Values>& shares) {
  const storage::TensorEntry entry{name, storage::DType::kF32, deepspeed_shape(shape, files_.front().path())};
  if (!storage::checked_bits(entry))
    throw not_of_deepspeed(files_.front().path(), "a parameter is too large");
  const uint64_t all = entry.elements(), each = (all + shares.size() - 1) / shares.size();
  Tensor& frozen = all_[name];
  uint64_t begin = 0;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    const std::string& path = files_[rank].path();
    const auto share = shares[rank].find(name);
    if (share == shares[rank].end())
      throw not_of_deepspeed(path, "it has no share of '" + printable(name) + "', which was not trained");
    const PickledTensor& row = share->second.tensor("a share");
    if (storage::TensorEntry{"", row.dtype, row.shape}.elements() != each)
      throw not_of_deepspeed(path, "its share of '" + printable(name) + "' is not that of one of " +
                                       std::to_string(shares.size()) + " ranks");
    const uint64_t count = std::min(each, all - begin);
    tensors_.add_range(frozen.tensor, share->second, {0, begin, count}, entry, path);
    frozen.files.push_back(file_name(files_[rank]));
    begin += count;
  }
}

void FrozenParameters::refuse_missing(const TorchFile& file) const {
  if (!shapes_.second_names()) return;  // of a tied parameter nothing says that it is one
  for (const auto& [text, value] : values_of(file, "module")) {
    const std::string name(text);
    if (value.kind() != Kind::kTensor || is_elsewhere(name) || all_.count(name) != 0) continue;
    throw not_of_deepspeed(
        file.path(), "no file has the numbers of '" + printable(name) + "', which the run did not train");
  }
}

}  // namespace hftrain::interchange
