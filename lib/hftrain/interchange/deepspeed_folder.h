// Checkpoints that the Trainer leaves with DeepSpeed, in the parts of its ranks (zero_parts.h) or in its universal form
// (universal_folder.h), which counts where there are both.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::interchange {

bool has_deepspeed(const std::string& checkpoint);
bool has_universal(const std::string& checkpoint);

// In float32, as DeepSpeed goes on from them. What was not trained comes from model.safetensors, or from what DeepSpeed leaves of the
// model where there is none. Of parts the ranks' files are compared with the optimizer's, which are the same. Error(kData).
storage::StoredWeights open_deepspeed_weights(const std::string& checkpoint,
                                              Checksums checksums = Checksums::kLeft);
// What was trained alone, under the names that `name` makes of DeepSpeed's. Error(kData).
storage::StoredWeights open_deepspeed_trained(const std::string& checkpoint,
                                              const std::function<std::string(const std::string&)>& name,
                                              Checksums checksums = Checksums::kLeft);
OptimizerStates open_deepspeed_optimizer(const std::string& checkpoint,
                                         Checksums checksums = Checksums::kLeft);

// The loss scale of float16, and updates since it last changed; nothing of a run that has none that changes.
struct DeepSpeedScale {
  double scale = 0;
  int64_t good_updates = 0;
};
std::optional<DeepSpeedScale> read_deepspeed_scale(const std::string& checkpoint);

// That its engine did, those that it skipped among them, where its files of the model say so.
std::optional<int64_t> deepspeed_updates(const std::string& checkpoint);

// Steps of the schedule that DeepSpeed steps itself, where there is no scheduler.pt: those updates that it did not skip. Error(kData)
// where it kept none.
int64_t deepspeed_schedule_steps(const std::string& checkpoint);

}  // namespace hftrain::interchange
