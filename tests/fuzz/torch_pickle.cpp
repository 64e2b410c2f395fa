// The pickle of a file of torch.save, and what the Trainer's state, FSDP's and DeepSpeed's is read of: the input is the pickle, in a
// zip with two storages.
#include <filesystem>
#include <fstream>

#include "fuzz.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/fsdp_folder.h"
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

// A folder where each file is the same one; the name of its parameter is that of the seeds.
std::string write_universal(std::string_view pickle) {
  const std::string checkpoint = fuzz::folder() + "/converted", universal = checkpoint + "/universal";
  std::filesystem::create_directories(universal + "/zero/w");
  std::ofstream(checkpoint + "/latest_universal") << "universal";
  for (const char* name :
       {"zero/w/fp32.pt", "zero/w/exp_avg.pt", "zero/optimizer_state.pt", "mp_rank_00_model_states.pt"})
    write_state(universal + '/' + name, pickle);
  return checkpoint;
}

std::string write_parts(std::string_view pickle) {
  const std::string checkpoint = fuzz::folder() + "/parts", step = checkpoint + "/global_step2";
  std::filesystem::create_directories(step);
  std::ofstream(checkpoint + "/latest") << "global_step2";
  for (const char* name :
       {"zero_pp_rank_0_mp_rank_00_optim_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt"})
    write_state(step + '/' + name, pickle);
  return checkpoint;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view pickle(reinterpret_cast<const char*>(data), size);
  const std::string folder = fuzz::folder();
  for (const char* name : {"optimizer.pt", "scheduler.pt", "rng_state.pth", "scaler.pt", "optimizer.bin",
                           "pytorch_model_fsdp.bin"})
    write_state(folder + '/' + name, pickle);
  fuzz::read_or_refuse([&] { look_at_all(interchange::TorchFile(folder + "/optimizer.pt").document()); });
  fuzz::read_or_refuse([&] {
    const interchange::TrainerOptimizer optimizer(folder);
    for (const std::string& name : optimizer.state_names()) optimizer.find(0, name);
  });
  fuzz::read_or_refuse([&] { interchange::read_trainer_schedule(folder); });
  fuzz::read_or_refuse([&] { interchange::read_trainer_random(folder, 0, 0); });
  fuzz::read_or_refuse([&] { interchange::open_fsdp_model(folder); });
  fuzz::read_or_refuse([&] { interchange::open_fsdp_optimizer(folder); });
  fuzz::read_or_refuse([&] { interchange::open_deepspeed_weights(write_universal(pickle)); });
  fuzz::read_or_refuse([&] { interchange::open_deepspeed_optimizer(write_universal(pickle)); });
  fuzz::read_or_refuse([&] { interchange::open_deepspeed_optimizer(write_parts(pickle)); });
  return fuzz::read_or_refuse([&] { interchange::read_trainer_scaler(folder); });
}
