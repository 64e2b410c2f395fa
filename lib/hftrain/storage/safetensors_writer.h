// Writer of one safetensors file. What the file will hold is declared first, then the bytes of each tensor
// follow in file order, so nothing is ever held twice in memory. The content hash is made on the way: a
// manifest needs no second read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/hash.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/safetensors_file.h"

namespace hftrain::storage {

using SafetensorsMetadata = std::map<std::string, std::string>;

// A finished file: its name relative to the folder it belongs to, its size and its XXH3-128.
struct FileRecord {
  std::string path;
  uint64_t size = 0;
  std::string hash;
  bool operator==(const FileRecord&) const = default;
};

// Of the bytes in a file. Always by descending dtype, so that every tensor is aligned; then by name, as the
// safetensors package has it, or as declared.
enum class TensorOrder { kByName, kAsDeclared };
std::vector<TensorEntry> in_file_order(std::vector<TensorEntry> entries,
                                       TensorOrder order = TensorOrder::kByName);

// The length prefix and the header for entries already in file order, padded with spaces to a multiple of 8.
std::string safetensors_header(const std::vector<TensorEntry>& entries, const SafetensorsMetadata& metadata);

// Readers of older transformers refuse a file without it.
inline SafetensorsMetadata pt_metadata() {
  return {{"format", "pt"}};
}

// Used by one thread. Dropped before finish(): the file is left incomplete, as a crash would.
class SafetensorsWriter {
 public:
  SafetensorsWriter(FileSystem& files, const std::string& path, std::vector<TensorEntry> entries,
                    SafetensorsMetadata metadata = pt_metadata(), TensorOrder order = TensorOrder::kByName);

  // File order: the order in which write() wants the tensors.
  const std::vector<TensorEntry>& entries() const noexcept { return entries_; }

  // The next bytes of tensor `name`. A tensor may come in several calls; another name than the one due, or
  // too many bytes, is a mistake of the caller: Error(kInternal).
  void write(std::string_view name, std::string_view bytes);

  // Syncs the file. `path` of the record is the path given to the constructor. Error(kInternal) when bytes
  // are missing.
  FileRecord finish();

 private:
  void put(std::string_view bytes);
  void skip_complete_entries();

  std::string path_;
  std::vector<TensorEntry> entries_;
  std::unique_ptr<WritableFile> file_;
  Hasher hasher_;
  uint64_t size_ = 0;
  size_t current_ = 0;    // index of the tensor whose bytes are due
  uint64_t missing_ = 0;  // bytes of it still to come
};

// A whole file in one call, written beside `path` and renamed there when durable; `bytes_of` is asked once
// per tensor, in file order, and its answer is used up before the next question.
FileRecord write_safetensors(FileSystem& files, const std::string& path, std::vector<TensorEntry> entries,
                             const std::function<std::string_view(const TensorEntry&)>& bytes_of,
                             SafetensorsMetadata metadata = pt_metadata());

}  // namespace hftrain::storage
