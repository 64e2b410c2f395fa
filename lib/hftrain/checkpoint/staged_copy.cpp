#include "hftrain/checkpoint/staged_copy.h"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <numeric>

#include "hftrain/base/copy_past_cache.h"
#include "hftrain/base/error.h"
#include "hftrain/checkpoint/tensor_bytes.h"

namespace hftrain::checkpoint {
namespace {

constexpr uint64_t kAlignment = 64;           // of a file's first tensor: of any type, and a cache line
constexpr int64_t kShare = int64_t{1} << 20;  // bytes of a tensor that are worth a thread

uint64_t bytes_of_all(const std::vector<storage::TensorEntry>& entries) {
  return std::accumulate(entries.begin(), entries.end(), uint64_t{0},
                         [](uint64_t sum, const storage::TensorEntry& entry) { return sum + entry.bytes(); });
}

// With all threads of the training step, which have nothing else to do meanwhile.
void copy_on_host(std::span<std::byte> to, const std::byte* from) {
  at::parallel_for(0, static_cast<int64_t>(to.size()), kShare, [&](int64_t begin, int64_t end) {
    copy_past_cache(to.data() + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

void copy_from_device(std::span<std::byte> to, const at::Tensor& from) {
  at::from_blob(to.data(), from.sizes(), at::TensorOptions().dtype(from.scalar_type()))
      .copy_(from, /*non_blocking=*/true);
}

}  // namespace

class StagedCopy::Writer final : public TensorWriter {
 public:
  Writer(const File& file, const StagingMemory& memory)
      : name_(file.name), entries_(file.entries), memory_(memory), next_(*file.begin) {}

  void write(const std::string& name, const at::Tensor& tensor) override {
    if (tensor.numel() == 0) return;
    skip_empty_entries();
    const bool due = current_ < entries_.size() && entries_[current_].name == name &&
                     entries_[current_].bytes() == tensor.nbytes();
    if (!due) throw Error(ExitCode::kInternal, "tensors came out of order").where(name_).why("at " + name);
    append(tensor.detach().contiguous().view({-1}));
    ++current_;
  }

  void close() override {
    skip_empty_entries();
    if (current_ == entries_.size()) return;
    throw Error(ExitCode::kInternal, "a tensor was not written").where(name_).why(entries_[current_].name);
  }

 private:
  // No number lies across two chunks: a file has its widest types first.
  void append(const at::Tensor& flat) {
    const auto width = static_cast<uint64_t>(flat.itemsize()), size = flat.nbytes();
    for (uint64_t done = 0; done < size;) {
      const std::span<std::byte> piece = memory_.at(next_, size - done);
      if (flat.is_cpu()) {
        copy_on_host(piece, static_cast<const std::byte*>(flat.const_data_ptr()) + done);
      } else {
        const auto first = static_cast<int64_t>(done / width);
        copy_from_device(piece, flat.narrow(0, first, static_cast<int64_t>(piece.size() / width)));
      }
      next_ += piece.size();
      done += piece.size();
    }
  }
  void skip_empty_entries() {
    while (current_ < entries_.size() && entries_[current_].bytes() == 0) ++current_;
  }

  std::string name_;
  std::vector<storage::TensorEntry> entries_;
  const StagingMemory& memory_;
  size_t current_ = 0;
  uint64_t next_;  // where the next tensor goes
};

void StagedCopy::reserve(uint64_t bytes, const std::atomic<bool>& abandoned) {
  while (memory_.size() < bytes) {
    if (abandoned) throw Abandoned();
    memory_.grow(memory_.size() + 1);
    memory_.touch(memory_.chunks() - 1);
  }
}

void StagedCopy::clear() {
  files_.clear();
  used_ = 0;
}

void StagedCopy::put(const std::string& name, std::string_view bytes) {
  File file;
  file.name = name;
  file.text = bytes;
  files_.push_back(std::move(file));
}

std::unique_ptr<TensorWriter> StagedCopy::open(const std::string& name,
                                               std::vector<storage::TensorEntry> entries,
                                               storage::SafetensorsMetadata metadata,
                                               storage::TensorOrder order) {
  const uint64_t begin = (used_ + kAlignment - 1) / kAlignment * kAlignment;
  files_.push_back(
      {name, "", begin, storage::in_file_order(std::move(entries), order), std::move(metadata), order});
  used_ = begin + bytes_of_all(files_.back().entries);
  memory_.grow(used_);
  return std::make_unique<Writer>(files_.back(), memory_);
}

void StagedCopy::write_to(storage::StagedFiles& target, const std::atomic<bool>& abandoned) const {
  for (const File& file : files_) {
    if (abandoned) throw Abandoned();
    if (!file.begin) {
      target.put(file.name, file.text);
      continue;
    }
    storage::SafetensorsWriter writer =
        target.open_safetensors(file.name, file.entries, file.metadata, file.order);
    uint64_t next = *file.begin;
    for (const storage::TensorEntry& entry : file.entries) {
      for (uint64_t rest = entry.bytes(); rest > 0;) {
        if (abandoned) throw Abandoned();
        const std::span<const std::byte> piece = memory_.at(next, rest);
        writer.write(entry.name, {reinterpret_cast<const char*>(piece.data()), piece.size()});
        next += piece.size();
        rest -= piece.size();
      }
    }
    target.close(writer);
  }
}

}  // namespace hftrain::checkpoint
