#include "hftrain/interchange/torch_writer.h"

#include <filesystem>
#include <utility>

#include "hftrain/interchange/zip_writer.h"

namespace hftrain::interchange {

void TorchWriter::tensor(storage::DType dtype, std::vector<int64_t> shape,
                         std::function<void(const ByteSink&)> write) {
  values_.tensor(dtype, shape, std::to_string(numbers_.size()));
  numbers_.push_back({storage::TensorEntry{"", dtype, std::move(shape)}.bytes(), std::move(write)});
}

// The folder in it is named after the file, as torch.save names it.
storage::FileRecord TorchWriter::finish(storage::FileSystem& files, const std::string& path) {
  const std::string folder = std::filesystem::path(path).stem().string() + '/';
  const std::string pickle = values_.finish();
  uint64_t expected = pickle.size();
  for (const Numbers& tensor : numbers_) expected += tensor.bytes;
  ZipWriter zip(files, path, expected);
  zip.add(folder + "data.pkl", pickle);
  zip.add(folder + "byteorder", "little");
  for (size_t i = 0; i < numbers_.size(); ++i) {
    zip.begin(folder + "data/" + std::to_string(i), numbers_[i].bytes);
    numbers_[i].write([&](std::string_view bytes) { zip.write(bytes); });
    zip.end();
  }
  zip.add(folder + "version", "3\n");
  return zip.finish();
}

}  // namespace hftrain::interchange
