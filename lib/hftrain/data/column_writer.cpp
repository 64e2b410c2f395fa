#include "hftrain/data/column_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "hftrain/base/error.h"

namespace hftrain::data {
namespace {

constexpr size_t kWriteBytes = 4 << 20;

template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

NumberType stored_type(FeatureType type, int64_t vocab_size) {
  if (type == FeatureType::kFloat) return NumberType::kFloat32;
  if (type == FeatureType::kByte) return NumberType::kUint8;
  const bool small = type == FeatureType::kTokenIds && vocab_size <= std::numeric_limits<uint16_t>::max() + 1;
  return small ? NumberType::kUint16 : NumberType::kInt32;
}

int64_t stored_bytes(NumberType type) {
  if (type == NumberType::kUint8) return 1;
  return type == NumberType::kUint16 ? 2 : 4;
}

}  // namespace

ColumnWriter::ColumnWriter(const std::string& prefix, int64_t vocab_size)
    : ColumnWriter(prefix, FeatureType::kTokenIds, vocab_size) {}

ColumnWriter::ColumnWriter(const std::string& prefix, FeatureType type, int64_t vocab_size)
    : prefix_(prefix), feature_type_(type), vocab_size_(vocab_size), type_(stored_type(type, vocab_size)) {
  const std::string path = prefix_ + ".bin";
  file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_) throw system_error(errno, "cannot create", path, ExitCode::kDisk);
}

void ColumnWriter::add(std::span<const int32_t> sequence) {
  if (feature_type_ == FeatureType::kTokenIds) {
    add_ids(sequence);
  } else if (feature_type_ == FeatureType::kByte) {
    for (const int32_t byte : sequence) append(buffer_, static_cast<uint8_t>(byte));
  } else {
    for (const int32_t number : sequence) append(buffer_, number);
  }
  end_sequence(sequence.size());
}

void ColumnWriter::add(std::span<const float> sequence) {
  for (const float number : sequence) append(buffer_, number);
  end_sequence(sequence.size());
}

void ColumnWriter::add_ids(std::span<const int32_t> sequence) {
  for (const int32_t id : sequence) {
    if (id < 0 || id >= vocab_size_) {
      throw Error(ExitCode::kInternal, "token id " + std::to_string(id) + " lies outside the vocabulary of " +
                                           std::to_string(vocab_size_));
    }
    largest_id_ = std::max<int64_t>(largest_id_, id);
    if (type_ == NumberType::kUint16) {
      append(buffer_, static_cast<uint16_t>(id));
    } else {
      append(buffer_, id);
    }
  }
}

void ColumnWriter::end_sequence(size_t length) {
  lengths_.push_back(static_cast<int32_t>(length));
  tokens_ += static_cast<int64_t>(length);
  longest_ = std::max(longest_, static_cast<int64_t>(length));
  if (buffer_.size() >= kWriteBytes) flush();
}

void ColumnWriter::flush() {
  write_all(file_.get(), buffer_, prefix_ + ".bin");
  buffer_.clear();
}

void ColumnWriter::finish() {
  flush();
  if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot sync", prefix_ + ".bin", ExitCode::kDisk);
  file_.reset();
  std::string index(kIndexMagic);
  index.reserve(kIndexHeaderBytes + 20 * lengths_.size() + 8);
  append(index, kIndexVersion);
  append(index, static_cast<uint8_t>(type_));
  append(index, static_cast<uint64_t>(lengths_.size()));
  append(index, static_cast<uint64_t>(lengths_.size() + 1));
  for (const int32_t length : lengths_) append(index, length);
  const int64_t width = stored_bytes(type_);
  int64_t offset = 0;
  for (const int32_t length : lengths_) {
    append(index, offset);
    offset += length * width;
  }
  for (size_t document = 0; document <= lengths_.size(); ++document)
    append(index, static_cast<int64_t>(document));
  write_file_atomically(prefix_ + ".idx", index);
}

}  // namespace hftrain::data
