// One rank's files of a checkpoint as a copy in host memory, to be written by a thread in the background.
//
//   copy.reserve(bytes, abandoned);                           (any thread, before the first save)
//   copy.clear();  save_optimizer(strategy, rank, copy);  …   (training thread)
//   copy.write_to(files, abandoned);                          (any thread, when the device is done copying)
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "hftrain/checkpoint/save_target.h"
#include "hftrain/checkpoint/staging_memory.h"

namespace hftrain::checkpoint {

// What reserve and write_to throw when they were told to give up.
struct Abandoned {};

class StagedCopy final : public SaveTarget {
 public:
  // `pinned` as StagingMemory has it.
  explicit StagedCopy(c10::Allocator* pinned) : memory_(pinned) {}

  // Makes memory for tensors of `bytes` and has the kernel put its pages in place; looks at `abandoned` every
  // 64 MiB. Without it, or when it was too little, the next save does.
  void reserve(uint64_t bytes, const std::atomic<bool>& abandoned);

  // Forgets the files and keeps the memory: the next save of the same run needs as much.
  void clear();
  void put(const std::string& name, std::string_view bytes) override;
  std::unique_ptr<TensorWriter> open(const std::string& name, std::vector<storage::TensorEntry> entries,
                                     storage::SafetensorsMetadata metadata,
                                     storage::TensorOrder order) override;

  // Writes and syncs every file, and looks at `abandoned` every 64 MiB.
  void write_to(storage::StagedFiles& target, const std::atomic<bool>& abandoned) const;

 private:
  class Writer;
  struct File {
    std::string name;
    std::string text;                           // of a file that is no safetensors file
    std::optional<uint64_t> begin;              // where its tensors, one after the other, are in memory_
    std::vector<storage::TensorEntry> entries;  // in the order of the file
    storage::SafetensorsMetadata metadata;
    storage::TensorOrder order = storage::TensorOrder::kByName;
  };

  StagingMemory memory_;
  uint64_t used_ = 0;
  std::vector<File> files_;
};

}  // namespace hftrain::checkpoint
