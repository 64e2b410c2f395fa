// The .metadata of torch.distributed.checkpoint, and the pieces that it finds: the input is the metadata, beside a file of a rank
// that holds two small tensors.
#include "fuzz.h"
#include "hftrain/base/file.h"
#include "hftrain/interchange/dcp_folder.h"
#include "hftrain/interchange/zip_writer.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

// A tensor of float32 with two rows of three, as torch.save writes it.
std::string saved_tensor(const std::string& folder) {
  using namespace std::string_literals;
  const std::string path = folder + "/piece";
  const std::string pickle =
      "\x80\x02"s + "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"s +
      "X\x01\x00\x00\x00"s + "0X\x03\x00\x00\x00"s + "cpuK\x06tQK\x00K\x02K\x03\x86K\x03K\x01\x86\x89"s +
      "ccollections\nOrderedDict\n)RtR."s;
  storage::PosixFileSystem files;
  interchange::ZipWriter zip(files, path, 0);
  zip.add("archive/data.pkl", pickle);
  zip.add("archive/data/0", std::string(24, '\1'));
  zip.finish();
  return read_file(path);
}

void look_at_all(const interchange::DcpFolder& folder) {
  for (const auto& [name, tensor] : folder.tensors()) {
    for (const storage::SlicedTensor::Slice& slice : tensor.slices) {
      if (slice.stored->bytes.size() != slice.stored->entry.bytes()) __builtin_trap();
      uint64_t sum = 0;
      for (const char byte : slice.stored->bytes) sum += static_cast<unsigned char>(byte);
      if (sum != slice.stored->bytes.size()) __builtin_trap();  // of bytes that are none of a tensor's
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string folder = fuzz::folder();
  static const std::string kPiece = saved_tensor(folder);
  fuzz::file_with("__0_0.distcp", kPiece + kPiece);
  fuzz::file_with(".metadata", std::string_view(reinterpret_cast<const char*>(data), size));
  return fuzz::read_or_refuse(
      [&] { look_at_all(interchange::DcpFolder(folder, interchange::Checksums::kCompared)); });
}
