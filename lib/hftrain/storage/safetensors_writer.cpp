#include "hftrain/storage/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/new_file.h"

namespace hftrain::storage {
namespace {

// Hashed and written while still in the cache.
constexpr size_t kPiece = size_t{8} << 20;

void append_entry(const TensorEntry& entry, uint64_t begin, std::string& header) {
  header += Json(entry.name).dump();
  header += R"(:{"dtype":")";
  header += dtype_name(entry.dtype);
  header += R"(","shape":[)";
  for (size_t i = 0; i < entry.shape.size(); ++i) {
    if (i > 0) header += ',';
    header += std::to_string(entry.shape[i]);
  }
  header += R"(],"data_offsets":[)";
  header += std::to_string(begin);
  header += ',';
  header += std::to_string(begin + entry.bytes());
  header += "]}";
}

}  // namespace

std::vector<TensorEntry> in_file_order(std::vector<TensorEntry> entries, TensorOrder order) {
  std::stable_sort(entries.begin(), entries.end(), [&](const TensorEntry& a, const TensorEntry& b) {
    if (a.dtype != b.dtype) return a.dtype > b.dtype;
    return order == TensorOrder::kByName && a.name < b.name;
  });
  return entries;
}

std::string safetensors_header(const std::vector<TensorEntry>& entries, const SafetensorsMetadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + Json(metadata).dump();
  uint64_t offset = 0;
  for (const TensorEntry& entry : entries) {
    if (text.size() > 1) text += ',';
    append_entry(entry, offset, text);
    offset += entry.bytes();
  }
  text += '}';
  while (text.size() % 8 != 0) text += ' ';
  const uint64_t length = text.size();
  std::string header(sizeof length, '\0');
  std::memcpy(header.data(), &length, sizeof length);
  return header + text;
}

SafetensorsWriter::SafetensorsWriter(FileSystem& files, const std::string& path,
                                     std::vector<TensorEntry> entries, SafetensorsMetadata metadata,
                                     TensorOrder order)
    : path_(path), entries_(in_file_order(std::move(entries), order)), file_(files.create(path)) {
  const std::string header = safetensors_header(entries_, metadata);
  uint64_t total = header.size();
  std::set<std::string_view> names;
  for (const TensorEntry& entry : entries_) {
    if (!names.insert(entry.name).second) {
      throw Error(ExitCode::kInternal, "tensor '" + entry.name + "' is declared twice").where(path_);
    }
    total += entry.bytes();
  }
  file_->reserve(total);
  put(header);
  if (!entries_.empty()) missing_ = entries_.front().bytes();
  skip_complete_entries();
}

void SafetensorsWriter::write(std::string_view name, std::string_view bytes) {
  if (bytes.empty()) return;  // all of an empty tensor, wherever it stands
  if (current_ == entries_.size() || entries_[current_].name != name || bytes.size() > missing_) {
    const std::string due = current_ == entries_.size()
                                ? "nothing"
                                : std::to_string(missing_) + " bytes of '" + entries_[current_].name + "'";
    throw Error(ExitCode::kInternal, "tensor bytes came out of order")
        .where(path_)
        .why(std::to_string(bytes.size()) + " bytes of '" + std::string(name) + "' came, " + due +
             " was due");
  }
  put(bytes);
  missing_ -= bytes.size();
  skip_complete_entries();
}

FileRecord SafetensorsWriter::finish() {
  if (current_ != entries_.size()) {
    throw Error(ExitCode::kInternal, "a tensor was not written")
        .where(path_)
        .why(std::to_string(missing_) + " bytes of '" + entries_[current_].name + "' are missing");
  }
  file_->sync();
  file_.reset();
  return {path_, size_, hasher_.hex()};
}

void SafetensorsWriter::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    hasher_.update(piece);
    file_->write(piece);
    size_ += piece.size();
    bytes.remove_prefix(piece.size());
  }
}

void SafetensorsWriter::skip_complete_entries() {
  while (missing_ == 0 && current_ < entries_.size()) {
    ++current_;
    if (current_ < entries_.size()) missing_ = entries_[current_].bytes();
  }
}

FileRecord write_safetensors(FileSystem& files, const std::string& path, std::vector<TensorEntry> entries,
                             const std::function<std::string_view(const TensorEntry&)>& bytes_of,
                             SafetensorsMetadata metadata) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string temporary = path + ".tmp-" + random_name();
  FileRecord record;
  try {
    SafetensorsWriter writer(files, temporary, std::move(entries), std::move(metadata));
    for (const TensorEntry& entry : writer.entries()) writer.write(entry.name, bytes_of(entry));
    record = writer.finish();
    files.rename(temporary, path);
  } catch (...) {
    try {
      files.remove(temporary);
    } catch (...) {  // the first failure is the one to report
    }
    throw;
  }
  files.sync_directory(parent.empty() ? "." : parent.string());
  record.path = path;
  return record;
}

}  // namespace hftrain::storage
