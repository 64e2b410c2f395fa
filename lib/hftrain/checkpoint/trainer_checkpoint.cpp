#include "hftrain/checkpoint/trainer_checkpoint.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/base/printable.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/deepspeed_state.h"
#include "hftrain/interchange/fsdp_folder.h"
#include "hftrain/interchange/optimizer_states.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::checkpoint {
namespace {

using interchange::OptimizerStates;
using interchange::TrainerOptimizer;
using parallel::Access;
using parallel::StatePart;

constexpr const char* kOtherModel =
    "resume with the model of that run, and with the release of transformers that wrote it told by "
    "--hf_compat; "
    "--model_name_or_path starts a new run from its weights alone";

constexpr const char* kOtherOptimizer =
    "resume with the --optim of that run; --model_name_or_path starts a new run from its weights alone";

std::string sizes_text(const std::vector<size_t>& sizes) {
  std::vector<std::string> texts;
  for (const size_t size : sizes) texts.push_back(std::to_string(size));
  return join(texts, " and ");
}

void check_groups(const TrainerOptimizer& saved, const TrainerGroups& groups) {
  std::vector<size_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.size());
  if (saved.group_sizes() == sizes) return;
  throw Error(ExitCode::kData, "the optimizer's state is of another model")
      .where(saved.path())
      .why("it has groups of " + sizes_text(saved.group_sizes()) + " parameters, and this run trains " +
           sizes_text(sizes) + ", with weight decay and without")
      .hint(kOtherModel);
}

void refuse_optimizer(const OptimizerStates& saved, const std::string& wanted) {
  throw Error(ExitCode::kData, "the optimizer's state is of another optimizer")
      .where(saved.path())
      .why("it keeps " + join(saved.state_names(), ", ") + " of a parameter, and this run's --optim keeps " +
           wanted)
      .hint(kOtherOptimizer);
}

void refuse_shape(const OptimizerStates& saved, const StatePart& part, const storage::SlicedTensor& tensor) {
  throw Error(ExitCode::kData, "the optimizer's state is of another model")
      .where(saved.path())
      .why("'" + stored_name(part) + "' has the shape " + Json(tensor.shape).dump() + " there, and " +
           Json(stored_shape(part)).dump() + " here")
      .hint(kOtherModel);
}

// The Trainer's optimizer.pt numbers parameters through its groups.
OptimizerStates states_by_place(const std::string& checkpoint, const TrainerGroups& groups) {
  const auto saved = std::make_shared<const TrainerOptimizer>(checkpoint);
  check_groups(*saved, groups);
  OptimizerStates states(saved->path(), saved);
  size_t position = 0;
  for (const auto& group : groups) {
    for (const std::string& name : group) {
      for (const std::string& state : saved->state_names()) {
        if (const storage::SlicedTensor* tensor = saved->find(position, state))
          states.add(name, state, *tensor);
      }
      ++position;
    }
  }
  return states;
}

// State of a parameter that this run does not train would be lost without a word.
void check_names(const OptimizerStates& saved, const TrainerGroups& groups) {
  std::set<std::string> own;
  for (const auto& group : groups) own.insert(group.begin(), group.end());
  for (const auto& [key, tensor] : saved.all()) {
    if (own.count(key.first) != 0) continue;
    throw Error(ExitCode::kData, "the optimizer's state is of another model")
        .where(saved.path())
        .why("it has state of '" + printable(key.first) + "', which this run does not train")
        .hint(kOtherModel);
  }
}

// What peft's model calls a parameter that it trains, as its files call it and this run: without the adapter's name.
std::string without_adapter(const std::string& name) {
  const std::string begin = architectures::kAdapterPrefix;
  if (!name.starts_with(begin)) return name;
  std::string own = name.substr(begin.size());
  for (const std::string inserted : {".modules_to_save.default", ".default"}) {
    const size_t at = own.rfind(inserted);
    const bool whole =
        at != std::string::npos && (at + inserted.size() == own.size() || own[at + inserted.size()] == '.');
    if (whole) return own.erase(at, inserted.size());
  }
  return own;
}

// By names in memory, as a model of torch gives them, those that files and this run have.
std::map<std::string, std::string> names_by_memory(const architectures::ParameterTable& table) {
  std::map<std::string, std::string> names;
  for (const architectures::ParameterSpec& spec : table.parameters)
    names[architectures::name_in_memory(spec)] = spec.name;
  return names;
}

OptimizerStates open_states(const std::string& checkpoint, const TrainerGroups& groups,
                            const architectures::ParameterTable& table) {
  if (path_exists(checkpoint + '/' + interchange::kOptimizerFile)) return states_by_place(checkpoint, groups);
  const auto names = names_by_memory(table);
  OptimizerStates saved = interchange::open_named_optimizer(checkpoint).renamed([&](const std::string& name) {
    const std::string in_memory = without_adapter(name);
    const auto found = names.find(in_memory);
    return found == names.end() ? in_memory : found->second;
  });
  check_names(saved, groups);
  return saved;
}

// torch's SGD with momentum does not count its updates, and this run's does: then they are those of the run.
std::optional<double> uncounted_updates(const OptimizerStates& saved, const std::string& checkpoint) {
  if (saved.state_names() != std::vector<std::string>{"momentum_buffer"}) return std::nullopt;
  return static_cast<double>(interchange::step_of_trainer(checkpoint));
}

// Which of an optimizer's state is in the file. State that no update has made yet stays as it began.
class Loading {
 public:
  Loading(const OptimizerStates& saved, std::optional<double> updates, const storage::ByteProgress& progress)
      : saved_(saved), updates_(updates), progress_(progress) {}
  void fill_part(const StatePart& part) {
    const storage::SlicedTensor* tensor = saved_.find(part.parameter, part.state);
    if (tensor == nullptr && !saved_.has_state(part.parameter)) return;
    if (updates_ && part.state == interchange::kStepCounter) {
      part.tensor.fill_(*updates_);
      return;
    }
    if (tensor == nullptr) refuse_optimizer(saved_, "'" + part.state + "'");
    if (tensor->shape != stored_shape(part)) refuse_shape(saved_, part, *tensor);
    fill(part.tensor, tensor->dtype,
         [&](std::span<char> bytes) { storage::read_box(*tensor, stored_box(part), bytes, saved_.path()); });
    if (progress_) progress_(part.tensor.nbytes());
  }

 private:
  const OptimizerStates& saved_;
  std::optional<double> updates_;
  const storage::ByteProgress& progress_;
};

bool holds(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What it keeps and this run does not: of another optimizer, or of another form of it (amsgrad).
void check_states(const std::vector<std::string>& own, const OptimizerStates& saved) {
  for (const std::string& name : saved.state_names()) {
    // transformers' Adafactor keeps it and computes it anew in each update.
    if (name == "RMS" && holds(own, "exp_avg_sq_row")) continue;
    if (!holds(own, name.c_str())) refuse_optimizer(saved, own.empty() ? "nothing" : join(own, ", "));
  }
  if (own.empty()) return;
  if (!saved.all().empty()) return;
  throw Error(ExitCode::kData, "the optimizer's state is empty")
      .where(saved.path())
      .why("it has no tensor of any parameter, and this run's --optim keeps " + join(own, ", ") + " of each")
      .hint(kOtherOptimizer);
}

std::vector<std::string> parameters_without_state(const OptimizerStates& saved, const TrainerGroups& groups) {
  std::vector<std::string> names;
  for (const auto& group : groups) {
    for (const std::string& name : group) {
      if (!saved.has_state(name)) names.push_back(name);
    }
  }
  return names;
}

// Positions in the table. Adapters stand at its end, and in peft's model behind what they adapt.
std::vector<size_t> order_of_modules(const architectures::ParameterTable& table) {
  std::vector<std::vector<size_t>> behind(table.parameters.size());
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    if (table.parameters[i].adapts)
      behind[static_cast<size_t>(table.parameters[i].adapts->parameter)].push_back(i);
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    if (table.parameters[i].adapts) continue;
    order.push_back(i);
    order.insert(order.end(), behind[i].begin(), behind[i].end());
  }
  return order;
}

}  // namespace

TrainerGroups trainer_groups(const plan::RunPlan& plan, const architectures::ParameterTable& table) {
  TrainerGroups groups(2);
  const std::vector<int>& frozen = plan.model.frozen;
  for (const size_t i : order_of_modules(table)) {
    const architectures::ParameterSpec& spec = table.parameters[i];
    if (spec.buffer || std::binary_search(frozen.begin(), frozen.end(), static_cast<int>(i))) continue;
    groups[spec.weight_decay ? 0 : 1].push_back(spec.name);
  }
  return groups;
}

interchange::TrainerRun trainer_run(const plan::RunPlan& plan, const architectures::ParameterTable& table,
                                    const Json& state, double next_rate) {
  const Json& schedule = state.at("schedule");
  const Json& scaler = state.at("scaler");
  interchange::TrainerRun run{.groups = trainer_groups(plan, table),
                              .weight_decays = plan.optimizer.weight_decays(),
                              .beta1 = plan.optimizer.beta1,
                              .beta2 = plan.optimizer.beta2,
                              .epsilon = plan.optimizer.epsilon,
                              .fused = plan.optimizer.name == "adamw_torch_fused",
                              .base_rate = schedule.value("base_rate", plan.optimizer.learning_rate),
                              .next_rate = next_rate,
                              .steps = schedule.at("steps").get<int64_t>(),
                              .seed = plan.seed,
                              .world_size = plan.ranks.world_size,
                              .ranks_per_node = plan.ranks.local_world_size,
                              .loss_scale = {}};
  if (plan.precision.gradient_scaler)
    run.loss_scale = {scaler.at("scale").get<double>(), scaler.at("good_updates").get<int64_t>(),
                      plan.precision.loss_scale.growth_interval};
  return run;
}

storage::StoredWeights open_saved_adapter(const std::string& folder) {
  if (interchange::has_deepspeed(folder))
    return interchange::open_deepspeed_trained(folder, [](const std::string& name) {
      return architectures::kAdapterPrefix + without_adapter(name);
    });
  const bool file = path_exists(folder + '/' + architectures::kAdapterWeightsName);
  if (!file && interchange::is_fsdp_adapter(folder)) return interchange::open_fsdp_model(folder);
  return storage::StoredWeights(folder, architectures::kAdapterWeightsName);
}

std::vector<std::string> load_trainer_optimizer(parallel::Strategy& strategy,
                                                const std::vector<std::string>& kept,
                                                const TrainerGroups& groups,
                                                const architectures::ParameterTable& table,
                                                const std::string& checkpoint,
                                                const storage::ByteProgress& progress) {
  const OptimizerStates saved = open_states(checkpoint, groups, table);
  check_states(kept, saved);
  if (kept.empty()) return {};
  Loading loading(saved, uncounted_updates(saved, checkpoint), progress);
  strategy.visit_optimizer_state([&](const StatePart& part) { loading.fill_part(part); }, Access::kWrite);
  return parameters_without_state(saved, groups);
}

}  // namespace hftrain::checkpoint
