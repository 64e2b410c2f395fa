// A file of torch.save as it lies on the disk: its zip, and what is in it where the checksums are right.
#include "fuzz.h"
#include "hftrain/interchange/torch_file.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = fuzz::file_with("state.pt", {reinterpret_cast<const char*>(data), size});
  fuzz::read_or_refuse([&] {
    const interchange::ZipFile zip(path);
    uint64_t held = 0;
    for (const auto& [name, entry] : zip.entries()) {
      for (const char byte : entry.bytes) held += static_cast<unsigned char>(byte) < 256 ? 1 : 0;
      fuzz::read_or_refuse([&] { zip.check(name); });
    }
    if (held > size) __builtin_trap();  // entries that overlap
  });
  return fuzz::read_or_refuse([&] { interchange::TorchFile(path).check(); });
}
