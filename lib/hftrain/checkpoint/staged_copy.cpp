#include "hftrain/checkpoint/staged_copy.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "hftrain/base/error.h"
#include "hftrain/checkpoint/tensor_bytes.h"

namespace hftrain::checkpoint {
namespace {

constexpr uint64_t kPiece = uint64_t{64} << 20;   // between two looks at `abandoned`
constexpr uint64_t kShared = uint64_t{16} << 20;  // from here on several threads copy a tensor

uint64_t bytes_of_all(const std::vector<storage::TensorEntry>& entries) {
  return std::accumulate(entries.begin(), entries.end(), uint64_t{0},
                         [](uint64_t sum, const storage::TensorEntry& entry) { return sum + entry.bytes(); });
}

// Several threads copy a large tensor faster; for a smaller one waiting for them costs more than it brings,
// above all where other processes want the cores too.
void copy(const at::Tensor& tensor, char* target, bool pinned) {
  const bool small = tensor.nbytes() < kShared;
  if (small && tensor.is_cpu() && tensor.is_contiguous()) {
    std::memcpy(target, tensor.const_data_ptr(), tensor.nbytes());
    return;
  }
  const at::NoGradGuard no_grad;
  at::from_blob(target, tensor.sizes(), at::TensorOptions().dtype(tensor.scalar_type()))
      .copy_(tensor.detach(), /*non_blocking=*/pinned);
}

}  // namespace

class StagedCopy::Writer final : public TensorWriter {
 public:
  Writer(const File& file, const Block& block, bool pinned)
      : name_(file.name),
        entries_(file.entries),
        next_(static_cast<char*>(block.memory.get())),
        pinned_(pinned) {}

  void write(const std::string& name, const at::Tensor& tensor) override {
    if (tensor.numel() == 0) return;
    skip_empty_entries();
    const bool due = current_ < entries_.size() && entries_[current_].name == name &&
                     entries_[current_].bytes() == tensor.nbytes();
    if (!due) throw Error(ExitCode::kInternal, "tensors came out of order").where(name_).why("at " + name);
    copy(tensor, next_, pinned_);
    next_ += tensor.nbytes();
    ++current_;
  }

  void close() override {
    skip_empty_entries();
    if (current_ == entries_.size()) return;
    throw Error(ExitCode::kInternal, "a tensor was not written").where(name_).why(entries_[current_].name);
  }

 private:
  void skip_empty_entries() {
    while (current_ < entries_.size() && entries_[current_].bytes() == 0) ++current_;
  }

  std::string name_;
  std::vector<storage::TensorEntry> entries_;
  size_t current_ = 0;
  char* next_;  // where the next tensor goes
  bool pinned_;
};

void StagedCopy::put(const std::string& name, std::string bytes) {
  File file;
  file.name = name;
  file.text = std::move(bytes);
  files_.push_back(std::move(file));
}

std::unique_ptr<TensorWriter> StagedCopy::open(const std::string& name,
                                               std::vector<storage::TensorEntry> entries,
                                               storage::SafetensorsMetadata metadata,
                                               storage::TensorOrder order) {
  File file{name, "", std::nullopt, storage::in_file_order(std::move(entries), order), std::move(metadata),
            order};
  file.block = take_block(bytes_of_all(file.entries));
  files_.push_back(std::move(file));
  return std::make_unique<Writer>(files_.back(), blocks_[*files_.back().block], pinned_ != nullptr);
}

size_t StagedCopy::take_block(uint64_t bytes) {
  const auto used = static_cast<size_t>(
      std::count_if(files_.begin(), files_.end(), [](const File& file) { return file.block.has_value(); }));
  if (used == blocks_.size()) blocks_.emplace_back();
  Block& block = blocks_[used];
  if (block.size < bytes) {
    block = {};  // before the larger one is there
    block.memory = (pinned_ != nullptr ? pinned_ : c10::GetCPUAllocator())->allocate(bytes);
    block.size = bytes;
  }
  return used;
}

void StagedCopy::write_to(storage::StagedFiles& target, const std::atomic<bool>& abandoned) const {
  for (const File& file : files_) {
    if (abandoned) throw Abandoned();
    if (!file.block) {
      target.put(file.name, file.text);
      continue;
    }
    storage::SafetensorsWriter writer =
        target.open_safetensors(file.name, file.entries, file.metadata, file.order);
    const char* next = static_cast<const char*>(blocks_[*file.block].memory.get());
    for (const storage::TensorEntry& entry : file.entries) {
      for (uint64_t rest = entry.bytes(); rest > 0;) {
        if (abandoned) throw Abandoned();
        const uint64_t piece = std::min(rest, kPiece);
        writer.write(entry.name, {next, piece});
        next += piece;
        rest -= piece;
      }
    }
    target.close(writer);
  }
}

int64_t StagedCopy::memory_bytes() const {
  return std::accumulate(blocks_.begin(), blocks_.end(), int64_t{0}, [](int64_t sum, const Block& block) {
    return sum + static_cast<int64_t>(block.size);
  });
}

}  // namespace hftrain::checkpoint
