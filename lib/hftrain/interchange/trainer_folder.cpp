#include "hftrain/interchange/trainer_folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/printable.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/folder_names.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/storage/manifest.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::interchange {
namespace {

constexpr const char* kProgress = "trainer_state.json";
constexpr const char* kRandom = "rng_state.pth";
using Kind = TorchValue::Kind;

// Layouts that hold a run in the parts of its ranks, by what stands in the folder.
struct Parts {
  const char* begins;  // the name of an entry
  const char* why;
  const char* hint;
};
constexpr std::array kParts{
    Parts{"pytorch_model_fsdp_0_rank",
          "FSDP wrote it in files of its ranks without a common index, which hftrain does not read",
          "save with DCP, which is accelerate's way unless it is told otherwise (use_dcp)"},
    Parts{"pytorch_model_fsdp_rank",
          "FSDP wrote it in files of its ranks (LOCAL_STATE_DICT), which hftrain does not read",
          "save with --fsdp_state_dict_type SHARDED_STATE_DICT"},
    Parts{"pytorch_model_fsdp_0", "FSDP wrote it in parts (SHARDED_STATE_DICT) that have no .metadata",
          "copy the checkpoint again, with the hidden files; or use another one"},
    Parts{"optimizer_0", "FSDP wrote its optimizer in parts (SHARDED_STATE_DICT) that have no .metadata",
          "copy the checkpoint again, with the hidden files; or use another one"},
    Parts{"global_step", "DeepSpeed wrote it, and the file 'latest' that names this folder is not there",
          "copy the checkpoint again, or write the name of the folder into a file 'latest' beside it"},
    Parts{"rank0-of-", "FSDP on a TPU wrote it in the parts of its ranks, which hftrain does not read",
          "--model_name_or_path starts a new run from weights that transformers saved whole"},
};

void refuse_parts(const std::string& folder, const std::vector<std::string>& names) {
  for (const Parts& parts : kParts) {
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const std::string& name) { return name.starts_with(parts.begins); });
    if (found == names.end()) continue;
    throw Error(ExitCode::kData, "the checkpoint is not whole in one place")
        .where(folder + '/' + *found)
        .why(parts.why)
        .hint(parts.hint);
  }
}

int ranks_of(const std::vector<std::string>& names) {
  if (std::binary_search(names.begin(), names.end(), kRandom)) return 1;
  const std::string begin = "rng_state_";
  return static_cast<int>(std::count_if(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(begin) && name.ends_with(".pth");
  }));
}

std::string tensor_bytes(const TorchValue& value, const char* what) {
  const PickledTensor& tensor = value.tensor(what);
  return tensor.dtype == storage::DType::kU8 && tensor.dense ? std::string(tensor.bytes) : std::string();
}

// A copy may have mixed two checkpoints. Earlier releases of accelerate, which let DeepSpeed count micro-batches through the ends of
// epochs, left such numbers as well, and the Trainer goes on from them.
void warn_of_other_step(const std::string& folder, TrainerFolder& found) {
  const std::optional<int64_t> updates = deepspeed_updates(folder);
  if (!updates || *updates == found.step) return;
  found.warnings.push_back(
      "trainer_state.json is of step " + std::to_string(found.step) +
      ", and DeepSpeed's files beside it are of " + std::to_string(*updates) +
      " updates: the run goes on at step " + std::to_string(found.step) +
      ", as the Trainer does; where they were copied, compare them with where they come from");
}

// The file of random numbers that the names show to be lost, that of the lowest rank; empty: none. `ranks` left one.
std::string lost_random(const std::vector<std::string>& names, int ranks) {
  if (ranks == 0) return kRandom;
  if (std::ranges::binary_search(names, std::string(kRandom))) return "";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string own = "rng_state_" + std::to_string(rank) + ".pth";
    if (!std::ranges::binary_search(names, own)) return own;
  }
  return "";
}

bool has_optimizer_alone(const std::string& folder) {
  return path_exists(folder + '/' + kOptimizerFile) || has_fsdp_optimizer(folder);
}

// The Trainer reads the two together or not at all.
void warn_of_half(bool has_optimizer, TrainerFolder& found) {
  const std::string there = has_optimizer ? "an optimizer's state" : kScheduleFile;
  found.warnings.push_back("the checkpoint holds " + there + " and no " +
                           (has_optimizer ? kScheduleFile : kOptimizerFile) +
                           ": what is there is not used, as in the Trainer, for it reads both or neither; "
                           "where the file was lost, copy it from where the folder comes from");
}

// The Trainer goes on without them, and says so.
void warn_of_lost_random(const std::string& lost, TrainerFolder& found) {
  if (lost.empty()) return;
  found.warnings.push_back(
      "the checkpoint has no " + lost +
      ", which holds random numbers: they begin anew, so that dropout is not that of a run that never "
      "stopped; where the file was lost, copy it from where the folder comes from");
}

}  // namespace

bool is_of_trainer(const std::string& folder) {
  return path_exists(folder + '/' + kProgress) && !path_exists(folder + '/' + storage::kManifestName) &&
         !path_exists(folder + "/hftrain_state.json");
}

int64_t step_of_trainer(const std::string& folder) {
  const std::string path = folder + '/' + kProgress;
  const Json step = json_member(read_json_file(path), "global_step");
  if (step.is_number_unsigned()) return step.get<int64_t>();
  throw unusable_state(path, "it does not say at which step the run was");
}

int ranks_of_trainer(const std::string& folder) {
  return ranks_of(names_in_folder(folder));
}

bool has_trainer_optimizer(const std::string& folder) {
  const bool has_both = path_exists(folder + '/' + kScheduleFile) && has_optimizer_alone(folder);
  return is_of_trainer(folder) && (has_both || has_deepspeed(folder));
}

TrainerFolder check_trainer_folder(const std::string& folder) {
  const std::vector<std::string> names = names_in_folder(folder);
  const auto has = [&](const char* name) { return std::binary_search(names.begin(), names.end(), name); };
  TrainerFolder found{step_of_trainer(folder), ranks_of(names), has_trainer_optimizer(folder)};
  const bool has_optimizer = found.whole || has_optimizer_alone(folder);
  if (!has_optimizer && !is_in_parts(folder)) refuse_parts(folder, names);
  if (!found.whole && (has_optimizer || has(kScheduleFile))) warn_of_half(has_optimizer, found);
  if (!found.whole) return found;
  for (const std::string& name : names) {
    const bool read = name == kOptimizerFile || name == kScheduleFile || name == kScalerFile ||
                      (name.starts_with("rng_state") && name.ends_with(".pth"));
    if (read) TorchFile(folder + '/' + name).check();
  }
  if (has(kOptimizerFile)) {
    TrainerOptimizer{folder};
  } else {
    open_named_optimizer(folder, Checksums::kCompared);
  }
  if (!read_trainer_schedule(folder)) deepspeed_schedule_steps(folder);
  if (!has(kOptimizerFile) && !has_fsdp_optimizer(folder)) warn_of_other_step(folder, found);
  read_trainer_scaler(folder);
  for (int rank = 0; rank < found.ranks; ++rank) read_trainer_random(folder, rank, 0);
  warn_of_lost_random(lost_random(names, found.ranks), found);
  return found;
}

bool is_in_parts(const std::string& folder) {
  return has_deepspeed(folder) || (!storage::has_model_weights(folder) && has_fsdp_model(folder));
}

storage::StoredWeights open_weights(const std::string& folder) {
  return storage::has_model_weights(folder) ? storage::StoredWeights(folder) : open_saved_weights(folder);
}

storage::StoredWeights open_saved_weights(const std::string& folder) {
  if (has_deepspeed(folder)) return open_deepspeed_weights(folder);
  return is_in_parts(folder) ? open_fsdp_model(folder) : storage::StoredWeights(folder);
}

void check_weights(const std::string& folder) {
  if (has_deepspeed(folder) && storage::holds_adapter_alone(folder)) {
    open_deepspeed_trained(
        folder, [](const std::string& name) { return name; }, Checksums::kCompared);
  } else if (has_deepspeed(folder)) {
    open_deepspeed_weights(folder, Checksums::kCompared);
  } else if (is_in_parts(folder)) {
    open_fsdp_model(folder, Checksums::kCompared);
  } else {
    open_weights(folder);
  }
}

OptimizerStates open_named_optimizer(const std::string& folder, Checksums checksums) {
  return has_fsdp_optimizer(folder) ? open_fsdp_optimizer(folder, checksums)
                                    : open_deepspeed_optimizer(folder, checksums);
}

TrainerOptimizer::TrainerOptimizer(const std::string& folder) : file_(folder + '/' + kOptimizerFile) {
  read_groups();
  read_states();
}

// A pickle may name one dict a million times, and one of a million keys: what is walked is bounded by what optimizers have.
void TrainerOptimizer::read_groups() {
  constexpr size_t kMostParameterGroups = 4096, kMostSettings = 1024;
  const std::vector<TorchValue> groups = file_.root().at("param_groups").items("param_groups");
  if (groups.size() > kMostParameterGroups)
    throw unusable_state(
        path(), "it has more than " + std::to_string(kMostParameterGroups) + " groups of parameters");
  for (const TorchValue& group : groups) {
    if (group.kind() == Kind::kDict && group.pairs("a group").size() > kMostSettings)
      throw unusable_state(path(), "a group has more than " + std::to_string(kMostSettings) + " settings");
    const std::vector<TorchValue> parameters = group.at("params").items("params");
    group_sizes_.push_back(parameters.size());
    for (const TorchValue& parameter : parameters) {
      const int64_t number = parameter.integer("a parameter of a group");
      if (!positions_.emplace(number, positions_.size()).second)
        throw unusable_state(path(), "parameter " + std::to_string(number) + " is in two groups");
    }
  }
}

void TrainerOptimizer::read_states() {
  std::set<size_t> seen;
  for (const auto& [number, state] : file_.root().at("state").pairs("state")) {
    const auto position = positions_.find(number.integer("a parameter with state"));
    if (position == positions_.end())
      throw unusable_state(path(), "it has the state of a parameter that is in no group");
    if (!seen.insert(position->second).second)
      throw unusable_state(path(), "a parameter has its state twice");
    read_state(position->second, state);
  }
}

void TrainerOptimizer::read_state(size_t position, const TorchValue& state) {
  if (state.count("the state of a parameter") > kMostStates)
    throw unusable_state(path(), "a parameter has more than " + std::to_string(kMostStates) + " states");
  for (const auto& [key, value] : state.pairs("the state of a parameter")) {
    const std::string& name = key.text("the name of a state");
    if (value.kind() == Kind::kNone) continue;  // SGD's buffer before its first update
    states_[{position, name}] = tensors_.add(name, value, path());
  }
}

const storage::SlicedTensor* TrainerOptimizer::find(size_t position, const std::string& name) const {
  const auto found = states_.find({position, name});
  return found == states_.end() ? nullptr : &found->second;
}

bool TrainerOptimizer::has_state(size_t position) const {
  const auto found = states_.lower_bound({position, ""});
  return found != states_.end() && found->first.first == position;
}

std::vector<std::string> TrainerOptimizer::state_names() const {
  std::set<std::string> names;
  for (const auto& [key, tensor] : states_) names.insert(key.second);
  return {names.begin(), names.end()};
}

std::optional<TrainerSchedule> read_trainer_schedule(const std::string& folder) {
  const std::string path = folder + '/' + kScheduleFile;
  if (!path_exists(path)) return std::nullopt;
  const TorchFile file(path);
  const TorchValue root = file.root();
  if (!root.find("lr_lambdas") || !root.find("base_lrs"))
    throw unusable_state(file.path(), "its schedule is none that goes by steps alone (of torch's LambdaLR)");
  TrainerSchedule schedule;
  schedule.steps = root.at("last_epoch").integer("last_epoch");
  const std::vector<TorchValue> rates = root.at("base_lrs").items("base_lrs");
  if (schedule.steps < 0 || rates.empty())
    throw unusable_state(file.path(), "its schedule has no rate, or was never begun");
  schedule.base_rate = rates.front().number("base_lrs");
  for (const TorchValue& rate : rates) {
    if (rate.number("base_lrs") != schedule.base_rate)
      throw unusable_state(
          file.path(), "its groups of parameters have learning rates of their own, and here all have one");
  }
  return schedule;
}

TrainerRandom read_trainer_random(const std::string& folder, int rank, int local_rank) {
  const std::string alone = folder + '/' + kRandom,
                    own = folder + "/rng_state_" + std::to_string(rank) + ".pth";
  const std::string& path = rank == 0 && path_exists(alone) ? alone : own;
  TrainerRandom random;
  if (!path_exists(path)) return random;
  const TorchFile file(path);
  random.cpu = tensor_bytes(file.root().at("cpu"), "cpu");
  const std::optional<TorchValue> device = file.root().find("cuda");
  if (!device) return random;
  if (device->kind() == Kind::kTensor) {
    random.device = tensor_bytes(*device, "cuda");
  } else {  // of all devices that the rank sees
    const std::vector<TorchValue> all = device->items("cuda");
    const auto index = static_cast<size_t>(local_rank);
    if (index < all.size()) random.device = tensor_bytes(all[index], "cuda");
  }
  return random;
}

std::optional<TrainerScaler> read_trainer_scaler(const std::string& folder) {
  const std::string path = folder + '/' + kScalerFile;
  if (!path_exists(path) && has_deepspeed(folder)) {
    const std::optional<DeepSpeedScale> scale = read_deepspeed_scale(folder);
    return scale ? std::optional(TrainerScaler{scale->scale, scale->good_updates}) : std::nullopt;
  }
  if (!path_exists(path)) return std::nullopt;
  const TorchFile file(path);
  const TorchValue root = file.root();
  if (!root.find("scale")) return std::nullopt;  // of a scaler that was off
  return TrainerScaler{root.at("scale").number("scale"),
                       root.at("_growth_tracker").integer("_growth_tracker")};
}

}  // namespace hftrain::interchange
