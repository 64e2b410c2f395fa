#include "hftrain/checkpoint/save_target.h"

#include "hftrain/checkpoint/tensor_bytes.h"

namespace hftrain::checkpoint {
namespace {

class DirectWriter final : public TensorWriter {
 public:
  DirectWriter(storage::StagedFiles& files, const std::string& name,
               std::vector<storage::TensorEntry> entries, storage::SafetensorsMetadata metadata,
               storage::TensorOrder order)
      : files_(files),
        writer_(files.open_safetensors(name, std::move(entries), std::move(metadata), order)) {}

  void write(const std::string& name, const at::Tensor& tensor) override {
    const at::Tensor host = to_host(tensor);
    writer_.write(name, bytes_of(host));
  }
  void close() override { files_.close(writer_); }

 private:
  storage::StagedFiles& files_;
  storage::SafetensorsWriter writer_;
};

}  // namespace

void DirectTarget::put(const std::string& name, std::string_view bytes) {
  files_.put(name, bytes);
}

std::unique_ptr<TensorWriter> DirectTarget::open(const std::string& name,
                                                 std::vector<storage::TensorEntry> entries,
                                                 storage::SafetensorsMetadata metadata,
                                                 storage::TensorOrder order) {
  return std::make_unique<DirectWriter>(files_, name, std::move(entries), std::move(metadata), order);
}

}  // namespace hftrain::checkpoint
