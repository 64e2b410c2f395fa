#include "hftrain/checkpoint/rank_state.h"

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

}  // namespace

void save_rank_state(const RankState& state, int rank, storage::StagedFiles& target) {
  const auto size = [](const std::string& bytes) {
    return std::vector<int64_t>{static_cast<int64_t>(bytes.size())};
  };
  std::string loss(sizeof(float), '\0');
  std::memcpy(loss.data(), &state.loss_sum, sizeof(float));
  storage::SafetensorsWriter writer =
      target.open_safetensors(file_of(rank), {{kCpu, storage::DType::kU8, size(state.random.cpu)},
                                              {kDevice, storage::DType::kU8, size(state.random.device)},
                                              {kLossSum, storage::DType::kF32, {1}}});
  for (const storage::TensorEntry& entry : std::vector(writer.entries())) {
    const std::string& bytes =
        entry.name == kCpu ? state.random.cpu : (entry.name == kDevice ? state.random.device : loss);
    writer.write(entry.name, bytes);
  }
  target.close(writer);
}

bool has_rank_state(const std::string& checkpoint, int rank) {
  return path_exists(checkpoint + '/' + file_of(rank));
}

RankState load_rank_state(const std::string& checkpoint, int rank) {
  const storage::SafetensorsFile file(checkpoint + '/' + file_of(rank));
  const auto bytes = [&](const char* name) {
    const storage::StoredTensor* stored = file.find(name);
    if (stored == nullptr)
      throw Error(ExitCode::kData, std::string("no '") + name + "' in it").where(file.path());
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
