// Reader of one safetensors file: a u64 little-endian header length, a JSON header, then the bytes of all
// tensors, row-major and little-endian. Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/storage/dtype.h"

namespace hftrain::storage {

// What a tensor is, without its bytes.
struct TensorEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // empty: a scalar

  uint64_t elements() const;
  uint64_t bytes() const;  // elements * bits / 8
};

// A tensor of a mapped file. `bytes` stays valid while the SafetensorsFile lives; it is aligned to the
// element size only when the writer padded its header, so copy with memcpy.
struct StoredTensor {
  TensorEntry entry;
  std::string_view bytes;
};

// A whole file mapped read-only and fully checked when opened: header length and JSON, no duplicate keys,
// known dtypes, ranges that fit shape and dtype, follow one another without hole or overlap and end at the
// end of the file. Any violation is Error(kData) naming the file and what is wrong. Several threads may read
// it.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  // Views point into the map, which moves with the object; copies are not needed.
  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;

  const std::string& path() const noexcept { return file_.path(); }
  uint64_t file_bytes() const noexcept { return file_.bytes().size(); }
  std::string_view bytes() const noexcept { return file_.bytes(); }
  // In file order.
  const std::vector<StoredTensor>& tensors() const noexcept { return tensors_; }
  // nullptr when the file has no such tensor.
  const StoredTensor* find(std::string_view name) const;
  // The strings of `__metadata__`; empty when there is none.
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

 private:
  void read_header();

  MappedFile file_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t, std::less<>> positions_;  // name -> index in tensors_
  std::map<std::string, std::string> metadata_;
};

}  // namespace hftrain::storage
