// A file of torch.save as it lies on the disk: its zip, and what is in it where the checksums are right.
#include <algorithm>

#include "fuzz.h"
#include "hftrain/interchange/torch_file.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = fuzz::file_with("state.pt", {reinterpret_cast<const char*>(data), size});
  fuzz::read_or_refuse([&] {
    const interchange::ZipFile zip(path);
    uint64_t held = 0, zeros = 0;
    for (const auto& each : zip.entries()) {
      const auto& bytes = each.second.bytes;
      held += bytes.size();
      zeros += static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\0'));  // reads every byte
      fuzz::read_or_refuse([&] { zip.check(each.first); });  // clang 14 captures no structured bindings
    }
    if (held > size || zeros > held) __builtin_trap();  // entries that overlap
  });
  return fuzz::read_or_refuse([&] { interchange::TorchFile(path).check(); });
}
