// Token files as sequences, and blocks of them of which only the size is wanted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hftrain/data/column_file.h"
#include "hftrain/data/sequence_writer.h"

namespace hftrain::data {

// The token files of a split as one row of sequences.
class SequenceList {
 public:
  explicit SequenceList(const std::vector<std::string>& prefixes) {
    for (const std::string& prefix : prefixes) {
      files_.push_back(ColumnFile::open(prefix));
      size_ += files_.back()->size();
    }
  }
  int64_t size() const { return size_; }

  // Calls visit(ids) for sequences [begin, end) until it returns false.
  template <typename Visit>
  void visit(int64_t begin, int64_t end, Visit visit) const {
    int64_t first = 0;  // number of the file's first sequence
    for (const auto& file : files_) {
      for (int64_t i = std::max(begin, first); i < std::min(end, first + file->size()); ++i) {
        std::vector<int64_t> ids(static_cast<size_t>(file->length(i - first)));
        file->copy_to(i - first, ids.data());
        if (!visit(ids)) return;
      }
      first += file->size();
    }
  }

 private:
  std::vector<std::unique_ptr<ColumnFile>> files_;
  int64_t size_ = 0;
};

// Ids that nobody keeps.
class UnwrittenIds final : public SequenceWriter {
 public:
  void add(std::span<const int32_t> sequence) override {
    ++sequences_;
    tokens_ += static_cast<int64_t>(sequence.size());
    for (const int32_t id : sequence) largest_id_ = std::max<int64_t>(largest_id_, id);
  }
  void add(std::span<const float>) override {}
  int64_t sequences() const override { return sequences_; }
  int64_t tokens() const override { return tokens_; }
  int64_t largest_id() const { return largest_id_; }

 private:
  int64_t sequences_ = 0, tokens_ = 0, largest_id_ = 0;
};

}  // namespace hftrain::data
