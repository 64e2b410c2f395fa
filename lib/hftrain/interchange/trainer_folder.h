// A checkpoint folder that transformers' Trainer wrote: what a run needs of it beside the model and trainer_state.json. The
// tensors' numbers stay in the mapped files. Errors are Error(kData) naming the file.
// Names: https://github.com/huggingface/transformers/blob/v5.17.0/src/transformers/trainer.py
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/interchange/torch_tensors.h"
#include "hftrain/storage/sharded_state.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::interchange {

inline constexpr const char* kOptimizerFile = "optimizer.pt";
inline constexpr const char* kScheduleFile = "scheduler.pt";
inline constexpr const char* kScalerFile = "scaler.pt";

// The folder holds a trainer_state.json, no manifest and no state of ours.
bool is_of_trainer(const std::string& folder);
// By its trainer_state.json.
int64_t step_of_trainer(const std::string& folder);
// That left random numbers in it; 0: none did.
int ranks_of_trainer(const std::string& folder);
// It holds the optimizer's state and the schedule's, too: a run goes on from it as if it had not stopped.
bool has_trainer_optimizer(const std::string& folder);

struct TrainerFolder {
  int64_t step = 0;
  int ranks = 0;       // that left random numbers; 0: none did
  bool whole = false;  // with the optimizer's state and the schedule's, which may be DeepSpeed's own
  std::vector<std::string> warnings = {};
};
// Reads every file that a run would go on from and compares its checksums. A folder in parts that are not read here is refused
// with what makes a whole one of it.
TrainerFolder check_trainer_folder(const std::string& folder);

// Its weights are what FSDP or DeepSpeed left of them.
bool is_in_parts(const std::string& folder);
// The weights of a folder of ours, of transformers, or of parts (fsdp_folder.h, deepspeed_folder.h). What a new run begins with: a
// model's own file counts, as for transformers, whatever lies beside it.
storage::StoredWeights open_weights(const std::string& folder);
// What a run goes on from: DeepSpeed's float32 counts before a model's own file.
storage::StoredWeights open_saved_weights(const std::string& folder);
// That they open, of an adapter those that DeepSpeed left of it; checksums are compared where the layout has some.
void check_weights(const std::string& folder);
// An optimizer's state by the names of parameters, of parts.
OptimizerStates open_named_optimizer(const std::string& folder, Checksums checksums = Checksums::kLeft);

// optimizer.pt: torch's Optimizer.state_dict().
class TrainerOptimizer {
 public:
  explicit TrainerOptimizer(const std::string& folder);

  const std::string& path() const noexcept { return file_.path(); }
  // How many parameters each group has, in their order.
  const std::vector<size_t>& group_sizes() const noexcept { return group_sizes_; }
  // State `name` of the parameter at `position` through all groups, as it is found in a sharded state: a scalar has the shape [1].
  // nullptr when there is none.
  const storage::SlicedTensor* find(size_t position, const std::string& name) const;
  // There is some state of it: it was updated.
  bool has_state(size_t position) const;
  // By position and name.
  const std::map<std::pair<size_t, std::string>, storage::SlicedTensor>& all() const noexcept {
    return states_;
  }
  // What the optimizer keeps of a parameter ("exp_avg", …), sorted.
  std::vector<std::string> state_names() const;

 private:
  void read_groups();
  void read_states();
  void read_state(size_t position, const TorchValue& state);

  TorchFile file_;
  std::vector<size_t> group_sizes_;
  std::map<int64_t, size_t> positions_;  // of the numbers that stand for parameters
  TorchTensors tensors_;
  std::map<std::pair<size_t, std::string>, storage::SlicedTensor> states_;
};

// scheduler.pt of a schedule by steps (torch's LambdaLR). Of one that follows a metric: Error(kData). Nothing where there is none,
// because DeepSpeed kept the schedule.
struct TrainerSchedule {
  int64_t steps = 0;
  double base_rate = 0;
};
std::optional<TrainerSchedule> read_trainer_schedule(const std::string& folder);

// rng_state.pth, or rng_state_<rank>.pth: states of torch's generators as get_state() gives them. Empty where there are none.
struct TrainerRandom {
  std::string cpu, device;
};
TrainerRandom read_trainer_random(const std::string& folder, int rank, int local_rank);

// scaler.pt, or what DeepSpeed keeps in its place: nothing when there is none.
struct TrainerScaler {
  double scale = 0;
  int64_t good_updates = 0;
};
std::optional<TrainerScaler> read_trainer_scaler(const std::string& folder);

}  // namespace hftrain::interchange
