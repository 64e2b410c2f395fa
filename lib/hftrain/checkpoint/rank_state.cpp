#include "hftrain/checkpoint/rank_state.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/safetensors_file.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kCpu = "random.cpu";
constexpr const char* kDevice = "random.device";
constexpr const char* kLossSum = "loss_sum";

std::string file_of(int rank) {
  char name[40];
  std::snprintf(name, sizeof name, "rng/rank-%05d.safetensors", rank);
  return name;
}

at::Tensor tensor_of(const std::string& bytes) {
  const at::Tensor tensor =
      at::empty({static_cast<int64_t>(bytes.size())}, at::TensorOptions().dtype(at::kByte));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

void save_rank_state(const RankState& state, int rank, SaveTarget& target) {
  const at::Tensor cpu = tensor_of(state.random.cpu), device = tensor_of(state.random.device);
  const std::unique_ptr<TensorWriter> writer =
      target.open(file_of(rank), {{kCpu, storage::DType::kU8, cpu.sizes().vec()},
                                  {kDevice, storage::DType::kU8, device.sizes().vec()},
                                  {kLossSum, storage::DType::kF32, {1}}});
  // In the order of the file: wider types first, then by name.
  writer->write(kLossSum, at::full({1}, state.loss_sum, at::TensorOptions().dtype(at::kFloat)));
  writer->write(kCpu, cpu);
  writer->write(kDevice, device);
  writer->close();
}

bool has_rank_state(const std::string& checkpoint, int rank) {
  return path_exists(checkpoint + '/' + file_of(rank));
}

RankState load_rank_state(const std::string& checkpoint, int rank) {
  const storage::SafetensorsFile file(checkpoint + '/' + file_of(rank));
  const auto bytes = [&](const char* name) {
    const storage::StoredTensor* stored = file.find(name);
    if (stored == nullptr)
      throw Error(ExitCode::kData, std::string("no '") + name + "' in it")
          .where(file.path())
          .why("the state of a rank holds its random numbers and its sum of losses")
          .hint("go on from an earlier checkpoint, by --resume_from_checkpoint");
    return std::string(stored->bytes);
  };
  RankState state{{bytes(kCpu), bytes(kDevice)}, 0};
  const std::string loss = bytes(kLossSum);
  if (loss.size() == sizeof(float)) std::memcpy(&state.loss_sum, loss.data(), sizeof(float));
  return state;
}

float mean_loss_sum(const std::string& checkpoint, int saved_ranks) {
  double sum = 0;
  for (int rank = 0; rank < saved_ranks; ++rank) sum += load_rank_state(checkpoint, rank).loss_sum;
  return static_cast<float>(sum / std::max(saved_ranks, 1));
}

}  // namespace hftrain::checkpoint
