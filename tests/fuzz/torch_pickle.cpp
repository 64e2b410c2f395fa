// The pickle of a file of torch.save, and what the Trainer's state is read of: the input is the pickle, in a zip with two
// storages.
#include "fuzz.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/interchange/zip_writer.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

void write_state(const std::string& path, std::string_view pickle) {
  storage::PosixFileSystem files;
  interchange::ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", pickle);
  zip.add("state/data/0", std::string(256, '\1'));
  zip.add("state/data/1", std::string(16, '\2'));
  zip.finish();
}

void look_at_all(const interchange::PickledDocument& document) {
  for (const interchange::PickledValue& value : document.values) {
    for (const uint32_t item : value.items) {
      if (item >= document.values.size()) __builtin_trap();
    }
  }
  for (const interchange::PickledTensor& tensor : document.tensors) {
    const storage::TensorEntry entry{"", tensor.dtype, tensor.shape};
    if (tensor.dense && tensor.bytes.size() != entry.bytes()) __builtin_trap();
    uint64_t sum = 0;
    for (const char byte : tensor.bytes) sum += static_cast<unsigned char>(byte);
    if (sum > 2 * tensor.bytes.size()) __builtin_trap();  // of bytes that are none of a storage's
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view pickle(reinterpret_cast<const char*>(data), size);
  const std::string folder = fuzz::folder();
  for (const char* name : {"optimizer.pt", "scheduler.pt", "rng_state.pth", "scaler.pt"})
    write_state(folder + '/' + name, pickle);
  fuzz::read_or_refuse([&] { look_at_all(interchange::TorchFile(folder + "/optimizer.pt").document()); });
  fuzz::read_or_refuse([&] {
    const interchange::TrainerOptimizer optimizer(folder);
    for (const std::string& name : optimizer.state_names()) optimizer.find(0, name);
  });
  fuzz::read_or_refuse([&] { interchange::read_trainer_schedule(folder); });
  fuzz::read_or_refuse([&] { interchange::read_trainer_random(folder, 0, 0); });
  return fuzz::read_or_refuse([&] { interchange::read_trainer_scaler(folder); });
}
