// A safetensors file: opened, and every byte of every tensor looked at.
#include "hftrain/storage/safetensors_file.h"

#include "fuzz.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const std::string path =
        fuzz::file_with("weights.safetensors", {reinterpret_cast<const char*>(data), size});
    const storage::SafetensorsFile file(path);
    uint64_t sum = 0;
    for (const storage::StoredTensor& tensor : file.tensors()) {
      if (tensor.entry.bytes() != tensor.bytes.size()) __builtin_trap();
      for (const char byte : tensor.bytes) sum += static_cast<unsigned char>(byte);
      if (file.find(tensor.entry.name) != &tensor) __builtin_trap();
    }
    if (sum > 255 * size) __builtin_trap();
  });
}
