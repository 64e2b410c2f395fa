// The shards of a sharded state, read as an export reads them. Four parts of the input: header and tensors of
// one shard, and of another. The lengths in front of the headers are set right, so that mutations reach what
// the headers say.
#include <algorithm>
#include <filesystem>

#include "fuzz.h"
#include "hftrain/storage/stored_weights.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

std::string shard(std::string_view header, std::string_view tensors) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  return bytes.append(header).append(tensors);
}

void read_all(const storage::StoredWeights& weights) {
  constexpr uint64_t kBytesAtOnce = 64;
  for (const storage::TensorEntry& entry : weights.entries()) {
    const auto width = static_cast<uint64_t>(std::max(1, storage::dtype_bits(entry.dtype) / 8));
    const storage::Box whole{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
    std::vector<char> buffer;
    for (const storage::Box& rows : storage::row_groups(whole, kBytesAtOnce / width)) {
      buffer.resize(storage::volume(rows) * width);
      weights.read(entry.name, rows, buffer);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::read_or_refuse([&] {
    const auto parts = fuzz::parts_of(data, size, 4);
    std::filesystem::create_directories(fuzz::folder() + "/model");
    fuzz::file_with("model/a.safetensors", shard(parts[0], parts[1]));
    fuzz::file_with("model/b.safetensors", shard(parts[2].empty() ? "{}" : parts[2], parts[3]));
    if (parts[2].empty()) std::filesystem::remove(fuzz::folder() + "/model/b.safetensors");
    read_all(storage::StoredWeights(fuzz::folder()));
  });
}
