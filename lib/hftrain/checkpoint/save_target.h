// Where a rank's files of a checkpoint go: straight to the disk, or to memory first, from which they are
// written while training goes on (staged_copy.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/safetensors_writer.h"

namespace hftrain::checkpoint {

// One safetensors file of a save.
class TensorWriter {
 public:
  virtual ~TensorWriter() = default;
  // The next tensor in the order of the file, whole; any device. It may be changed or freed on its stream as
  // soon as this returns. Without elements it may come at any time, or not at all.
  virtual void write(const std::string& name, const at::Tensor& tensor) = 0;
  // Called once, when all tensors are there.
  virtual void close() = 0;
};

// Used by one thread; a writer must not outlive its target.
class SaveTarget {
 public:
  virtual ~SaveTarget() = default;
  virtual void put(const std::string& name, std::string_view bytes) = 0;
  virtual std::unique_ptr<TensorWriter> open(const std::string& name,
                                             std::vector<storage::TensorEntry> entries,
                                             storage::SafetensorsMetadata metadata = storage::pt_metadata(),
                                             storage::TensorOrder order = storage::TensorOrder::kByName) = 0;
};

// Every file is on the disk when the call that completes it returns; one tensor at a time is on the host.
class DirectTarget final : public SaveTarget {
 public:
  // `files` must outlive the object.
  explicit DirectTarget(storage::StagedFiles& files) : files_(files) {}
  void put(const std::string& name, std::string_view bytes) override;
  std::unique_ptr<TensorWriter> open(const std::string& name, std::vector<storage::TensorEntry> entries,
                                     storage::SafetensorsMetadata metadata,
                                     storage::TensorOrder order) override;

 private:
  storage::StagedFiles& files_;
};

}  // namespace hftrain::checkpoint
