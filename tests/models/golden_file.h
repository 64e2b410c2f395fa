// Tensors and metadata of a golden safetensors file.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include "hftrain/storage/safetensors_file.h"
#include "support/paths.h"

namespace hftrain::testing {

class GoldenFile {
 public:
  // `name` below tests/golden/, without its suffix.
  explicit GoldenFile(const std::string& name)
      : file_(source_dir() + "/tests/golden/" + name + ".safetensors") {}

  at::Tensor tensor(const std::string& name) const {
    const storage::StoredTensor* stored = file_.find(name);
    if (stored == nullptr) throw std::runtime_error("no golden tensor " + name);
    const auto dtype = stored->entry.dtype == storage::DType::kI64 ? at::kLong : at::kFloat;
    at::Tensor result = at::empty(stored->entry.shape, at::TensorOptions().dtype(dtype));
    std::memcpy(result.data_ptr(), stored->bytes.data(), stored->bytes.size());
    return result;
  }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  // Of a key that is not there: empty.
  std::string metadata_if_any(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    return found == file_.metadata().end() ? "" : found->second;
  }
  const std::string& metadata(const std::string& key) const { return file_.metadata().at(key); }

 private:
  storage::SafetensorsFile file_;
};

}  // namespace hftrain::testing
