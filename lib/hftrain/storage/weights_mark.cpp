#include "hftrain/storage/weights_mark.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::storage {
namespace {

constexpr size_t kSample = 256;  // bytes of a tensor

std::string_view middle_of(std::string_view bytes) {
  const size_t taken = std::min(kSample, bytes.size());
  return bytes.substr((bytes.size() - taken) / 2, taken);
}

std::string mark_of(const ModelWeights& weights) {
  Hasher hasher;
  for (const std::string& name : weights.names()) {
    const StoredTensor& tensor = weights.at(name);
    std::string what = name + ' ' + std::to_string(static_cast<int>(tensor.entry.dtype));
    for (const int64_t size : tensor.entry.shape) what += ' ' + std::to_string(size);
    hasher.update(what + '\n');
    hasher.update(middle_of(tensor.bytes));
  }
  return hasher.hex();
}

// The first block holds the header, or its beginning, and the last one the file's end.
std::string mark_of_file(const SafetensorsFile& file) {
  constexpr size_t kBlocks = 64, kBlock = 64 << 10;
  const std::string_view bytes = file.bytes();
  Hasher hasher;
  hasher.update(std::to_string(bytes.size()) + '\n');
  if (bytes.size() <= kBlocks * kBlock) {
    hasher.update(bytes);
    return hasher.hex();
  }
  for (size_t i = 0; i < kBlocks; ++i)
    hasher.update(bytes.substr((bytes.size() - kBlock) / (kBlocks - 1) * i, kBlock));
  hasher.update(bytes.substr(bytes.size() - kBlock));
  for (const StoredTensor& tensor : file.tensors()) hasher.update(middle_of(tensor.bytes));
  return hasher.hex();
}

std::map<std::string, std::string> files_of(const ModelWeights& weights) {
  std::map<std::string, std::string> marks;
  for (const SafetensorsFile& file : weights.shards())
    marks[std::filesystem::path(file.path()).filename().string()] = mark_of_file(file);
  return marks;
}

}  // namespace

std::string weights_mark(const std::string& folder) {
  return has_model_weights(folder) ? mark_of(ModelWeights(folder)) : "";
}

std::string adapter_mark(const std::string& folder) {
  return path_exists(folder + '/' + kAdapterName) ? mark_of(ModelWeights(folder, kAdapterName)) : "";
}

std::map<std::string, std::string> weight_files(const std::string& folder) {
  if (!has_model_weights(folder)) return {};
  return files_of(ModelWeights(folder));
}

std::map<std::string, std::string> adapter_files(const std::string& folder) {
  if (!path_exists(folder + '/' + kAdapterName)) return {};
  return files_of(ModelWeights(folder, kAdapterName));
}

}  // namespace hftrain::storage
