#include "hftrain/storage/weights_mark.h"

#include <algorithm>

#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::storage {
namespace {

std::string mark_of(const ModelWeights& weights) {
  constexpr size_t kSample = 256;
  Hasher hasher;
  for (const std::string& name : weights.names()) {
    const StoredTensor& tensor = weights.at(name);
    std::string what = name + ' ' + std::to_string(static_cast<int>(tensor.entry.dtype));
    for (const int64_t size : tensor.entry.shape) what += ' ' + std::to_string(size);
    hasher.update(what + '\n');
    const size_t taken = std::min(kSample, tensor.bytes.size());
    hasher.update(tensor.bytes.substr((tensor.bytes.size() - taken) / 2, taken));
  }
  return hasher.hex();
}

}  // namespace

std::string weights_mark(const std::string& folder) {
  return has_model_weights(folder) ? mark_of(ModelWeights(folder)) : "";
}

std::string adapter_mark(const std::string& folder) {
  return path_exists(folder + '/' + kAdapterName) ? mark_of(ModelWeights(folder, kAdapterName)) : "";
}

}  // namespace hftrain::storage
