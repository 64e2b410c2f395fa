#include "hftrain/checkpoint/run_loader.h"

#include <algorithm>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/rank_state.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/trainer_folder.h"

namespace hftrain::checkpoint {
namespace {

// An adapter of other modules than this run trains would be halved without a word.
void refuse_unused(const std::string& folder, const std::vector<std::string>& unused) {
  if (unused.empty()) return;
  throw Error(ExitCode::kData, "the checkpoint's adapter is not that of this run")
      .where(folder)
      .why("it has '" + unused.front() + "', which this run does not train")
      .hint("give the lora_* flags that it was trained with");
}

}  // namespace

bool has_training_state(const std::string& checkpoint) {
  return path_exists(checkpoint + '/' + kTrainingStateName);
}

LoadedWeights RunLoader::load_model(const std::string& folder, const OpeningRules& rules) {
  const bool goes_on = folder == run_.plan.saving.resume_from;
  return load_weights_of(goes_on ? interchange::open_saved_weights : interchange::open_weights, folder,
                         rules);
}

LoadedWeights RunLoader::load_weights_of(OpenWeights open, const std::string& folder,
                                         const OpeningRules& rules) {
  LoadedWeights loaded;
  const std::optional<Error> failure =
      attempt([&] { loaded = load_weights(run_.table, open(folder), run_.strategy, progress_, rules); });
  check_collective_status(run_.communicator, failure, "load the model");
  return loaded;
}

void RunLoader::load_saved(const std::string& folder) {
  if (run_.plan.model.adapter) return load_adapter_by(open_saved_adapter, folder);
  load_weights_of(interchange::open_saved_weights, folder, {});
}

void RunLoader::check_saved(const std::string& folder) const {
  if (run_.plan.model.adapter)
    return check_stored_adapter(run_.table, trained_parameters(run_), run_.plan.model.adapter->spec,
                                open_saved_adapter(folder));
  check_stored(run_.table, interchange::open_saved_weights(folder));
}

void RunLoader::load_adapter_of(const std::string& folder) {
  load_adapter_by(
      [](const std::string& own) { return storage::StoredWeights(own, architectures::kAdapterWeightsName); },
      folder);
}

void RunLoader::load_adapter_by(OpenWeights open, const std::string& folder) {
  const std::optional<Error> failure = attempt([&] {
    const std::vector<std::string> unused =
        load_adapter(run_.table, trained_parameters(run_), run_.plan.model.adapter->spec, open(folder),
                     run_.strategy, progress_);
    // Beside it a config has said what it is, but in the parts of FSDP.
    if (!path_exists(folder + '/' + architectures::kAdapterConfigName)) refuse_unused(folder, unused);
  });
  check_collective_status(run_.communicator, failure, "load the adapter");
}

CheckpointContents RunLoader::load_training_state(const std::string& checkpoint) {
  CheckpointContents contents;
  const std::vector<std::string> kept = kept_by_all();
  const std::optional<Error> failure = attempt([&] {
    const std::string path = checkpoint + '/' + kTrainingStateName;
    if (!has_training_state(checkpoint)) {
      throw Error(ExitCode::kData, "this checkpoint holds a model but no training state")
          .where(checkpoint)
          .why("there is neither hftrain_state.json nor trainer_state.json")
          .hint("start a new run from its weights with --model_name_or_path");
    }
    contents.training_state = read_json_file(path);
    contents.step = contents.training_state.at("state").at("global_step").get<int64_t>();
    load_optimizer(run_.strategy, kept, checkpoint, progress_);
    const int saved_ranks = contents.training_state.at("world_size").get<int>();
    if (has_rank_state(checkpoint, run_.communicator.rank()))
      contents.rank_state = load_rank_state(checkpoint, run_.communicator.rank());
    if (saved_ranks != run_.communicator.world_size())
      contents.rank_state.loss_sum = mean_loss_sum(checkpoint, saved_ranks);
  });
  check_collective_status(run_.communicator, failure, "load the training state");
  return contents;
}

std::vector<std::string> RunLoader::kept_by_all() {
  std::vector<std::string> kept;
  for (const std::string& text : run_.communicator.all_gather_text(Json(kept_states(run_.strategy)).dump())) {
    for (const Json& state : Json::parse(text)) {
      if (std::find(kept.begin(), kept.end(), state.get<std::string>()) == kept.end()) kept.push_back(state);
    }
  }
  return kept;
}

TrainerResume RunLoader::load_trainer_state(const std::string& checkpoint) {
  TrainerResume resume;
  const std::vector<std::string> kept = kept_by_all();
  const std::optional<Error> failure = attempt([&] {
    resume.without_state = load_trainer_optimizer(run_.strategy, kept, trainer_groups(run_.plan, run_.table),
                                                  run_.table, checkpoint, progress_);
    const auto schedule = interchange::read_trainer_schedule(checkpoint);
    resume.schedule = schedule
                          ? *schedule
                          : interchange::TrainerSchedule{interchange::deepspeed_schedule_steps(checkpoint),
                                                         run_.plan.optimizer.learning_rate};
    resume.scaler = interchange::read_trainer_scaler(checkpoint);
    const int rank = run_.communicator.rank();
    const int local_rank = run_.plan.ranks.ranks[static_cast<size_t>(rank)].local_rank;
    const interchange::TrainerRandom random = interchange::read_trainer_random(checkpoint, rank, local_rank);
    resume.random = {random.cpu, random.device};
  });
  check_collective_status(run_.communicator, failure, "load the Trainer's state");
  return resume;
}

}  // namespace hftrain::checkpoint
