// One rank's files of a checkpoint as a copy in host memory, to be written by a thread in the background.
//
//   copy.clear();  save_optimizer(strategy, rank, copy);  …   (training thread)
//   copy.write_to(files, abandoned);                          (any thread, when the device is done copying)
#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "hftrain/checkpoint/save_target.h"

namespace hftrain::checkpoint {

// What write_to throws when it was told to give up.
struct Abandoned {};

class StagedCopy final : public SaveTarget {
 public:
  // `pinned`: where copies from a device run in the background; null on the CPU. Must outlive the object.
  explicit StagedCopy(c10::Allocator* pinned) : pinned_(pinned) {}

  // Forgets the files and keeps the memory: the next save of the same run needs as much.
  void clear() { files_.clear(); }
  void put(const std::string& name, std::string bytes) override;
  std::unique_ptr<TensorWriter> open(const std::string& name, std::vector<storage::TensorEntry> entries,
                                     storage::SafetensorsMetadata metadata,
                                     storage::TensorOrder order) override;

  // Writes and syncs every file, and looks at `abandoned` every 64 MiB.
  void write_to(storage::StagedFiles& target, const std::atomic<bool>& abandoned) const;

  // Bytes of memory that this object keeps for tensors.
  int64_t memory_bytes() const;

 private:
  class Writer;
  struct File {
    std::string name;
    std::string text;  // of a file that is no safetensors file
    std::optional<size_t> block;
    std::vector<storage::TensorEntry> entries;  // in the order of the file
    storage::SafetensorsMetadata metadata;
    storage::TensorOrder order = storage::TensorOrder::kByName;
  };
  // Tensors of one file, one after the other. The k-th file of every save has the k-th block.
  struct Block {
    c10::DataPtr memory;
    uint64_t size = 0;
  };

  size_t take_block(uint64_t bytes);

  c10::Allocator* pinned_;
  std::vector<File> files_;
  std::vector<Block> blocks_;
};

}  // namespace hftrain::checkpoint
