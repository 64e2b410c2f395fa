#include "hftrain/storage/weights_mark.h"

#include <algorithm>

#include "hftrain/base/hash.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::storage {

std::string weights_mark(const std::string& folder) {
  constexpr size_t kSample = 256;
  if (!has_model_weights(folder)) return "";
  const ModelWeights weights(folder);
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

}  // namespace hftrain::storage
