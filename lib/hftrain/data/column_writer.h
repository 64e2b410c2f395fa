// Writes a .bin/.idx pair that ColumnFile::open reads, and Megatron too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "hftrain/data/column_format.h"
#include "hftrain/data/features.h"
#include "hftrain/data/sequence_writer.h"

namespace hftrain::data {

// Used by one thread. Each sequence is a document of its own. Until finish() has returned, PREFIX.idx does
// not exist.
class ColumnWriter final : public SequenceWriter {
 public:
  // Token ids; replaces PREFIX.bin. Ids are stored as uint16 when `vocab_size` allows, else as int32.
  ColumnWriter(const std::string& prefix, int64_t vocab_size);
  // Any column; `vocab_size` matters where it is of token ids.
  ColumnWriter(const std::string& prefix, FeatureType type, int64_t vocab_size);

  // An id outside the vocabulary is an error (exit code 1: a tokenizer never gives one).
  void add(std::span<const int32_t> sequence) override;
  void add(std::span<const float> sequence) override;
  // Writes the index and makes both files durable. Nothing may be added afterwards.
  void finish();

  int64_t sequences() const override { return static_cast<int64_t>(lengths_.size()); }
  int64_t tokens() const override { return tokens_; }
  int64_t largest_id() const { return largest_id_; }  // of token ids
  int64_t longest() const { return longest_; }        // numbers in the longest sequence

 private:
  void add_ids(std::span<const int32_t> sequence);
  void end_sequence(size_t length);
  void flush();

  std::string prefix_;
  FeatureType feature_type_;
  int64_t vocab_size_;
  NumberType type_;
  FileDescriptor file_;
  std::string buffer_;
  std::vector<int32_t> lengths_;
  int64_t tokens_ = 0;
  int64_t largest_id_ = 0;
  int64_t longest_ = 0;
};

}  // namespace hftrain::data
