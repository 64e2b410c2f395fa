#include "hftrain/checkpoint/checkpointer.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/model_files.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/plan/identity.h"
#include "hftrain/storage/interrupted_writes.h"

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

constexpr const char* kTrainingState = "hftrain_state.json";
constexpr int kVerifyingThreads = 4;

// Weights of an earlier export with another number of shards would be opened in place of the new ones.
std::vector<std::string> weight_files(const std::string& folder) {
  static const std::regex kWeights(
      "model(-[0-9]+-of-[0-9]+)?[.]safetensors([.]index[.]json)?|"
      "adapter_model[.]safetensors|adapter_config[.]json");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::regex_match(name, kWeights)) names.push_back(name);
  }
  return names;
}

std::string records_text(const std::vector<storage::FileRecord>& records) {
  Json list = Json::array();
  for (const auto& record : records) list.push_back({record.path, record.size, record.hash});
  return list.dump();
}

std::vector<storage::FileRecord> records_of(const std::string& text) {
  std::vector<storage::FileRecord> records;
  for (const Json& item : Json::parse(text))
    records.push_back({item[0].get<std::string>(), item[1].get<uint64_t>(), item[2].get<std::string>()});
  return records;
}

}  // namespace

// From the temporary folder to the rename.
struct Checkpointer::Save {
  Save(storage::FileSystem& system, const std::string& folder, AfterCommit then)
      : files(system, folder), after(std::move(then)) {}

  // Who works on it: every rank, then those that commit on further nodes, then rank 0.
  enum class Stage { kFiles, kFurtherNodes, kFirstNode };

  std::unique_ptr<storage::CheckpointTransaction> transaction;  // on a committing rank
  storage::StagedFiles files;
  AfterCommit after;
  std::optional<interchange::TrainerRun> for_trainer;
  storage::Manifest manifest;  // once all files are there
  int64_t step = 0;
  Stage stage = Stage::kFiles;
  std::string path;  // once committed, on every rank
};

Checkpointer::Checkpointer(const plan::RunPlan& plan, const architectures::ParameterTable& table,
                           at::ScalarType weight_dtype, parallel::Strategy& strategy,
                           comm::Communicator& communicator, storage::FileSystem& files,
                           const runtime::DeviceRuntime* device, storage::ByteProgress progress)
    : plan_(plan),
      table_(table),
      weight_dtype_(weight_dtype),
      strategy_(strategy),
      communicator_(communicator),
      progress_(std::move(progress)),
      files_(files, progress_),
      device_(device),
      nodes_(plan),
      place_(plan.output_dir),
      staged_(device != nullptr ? device->pinned_allocator() : nullptr) {}

Checkpointer::~Checkpointer() {
  abandoned_ = true;
  try {
    background_.wait();
  } catch (...) {  // given up: nobody waits for it any more
  }
}

std::string Checkpointer::save(const CheckpointContents& contents, const AfterCommit& after) {
  const std::unique_ptr<Save> save = open_save(contents, after);
  DirectTarget target(save->files);
  std::optional<Error> failure = write_files(contents, target);
  if (!failure) failure = attempt([&] { save->files.sync_names(); });
  check_collective_status(communicator_, failure, "save");
  complete(*save);
  if (nodes_.several()) {
    failure = writes_model() || !commits() ? std::nullopt : attempt([&] { commit(*save); });
    check_collective_status(communicator_, failure, "save");
  }
  failure = writes_model() ? attempt([&] { commit(*save); }) : std::nullopt;
  check_collective_status(communicator_, failure, "save");
  after_commit(*save);
  return save->path;
}

void Checkpointer::rehearse(const CheckpointContents& contents) {
  const std::unique_ptr<Save> save = open_save(contents, {});
  check_collective_status(communicator_, write_for_rehearsal(contents, *save), "rehearse a save");
  complete(*save);
  std::optional<Error> failure;
  if (commits())
    failure = attempt([&] {
      add_trainer_files(*save);
      save->transaction->seal(save->manifest, kVerifyingThreads, progress_);
    });
  check_collective_status(communicator_, failure, "rehearse a save");
}

std::optional<Error> Checkpointer::write_for_rehearsal(const CheckpointContents& contents, Save& save) {
  std::optional<Error> failure;
  if (plan_.saving.asynchronous) {
    staged_.clear();
    failure = write_files(contents, staged_);
    if (!failure && device_ != nullptr)
      failure = attempt([&] { device_->synchronise(communicator_.device()); });
    if (!failure) failure = attempt([&] { staged_.write_to(save.files, abandoned_); });
  } else {
    DirectTarget target(save.files);
    failure = write_files(contents, target);
  }
  if (!failure) failure = attempt([&] { save.files.sync_names(); });
  return failure;
}

// At full priority: a starved thread would leave the rest to the first save.
void Checkpointer::reserve_copy() {
  background_.start(BackgroundTask::Priority::kNormal, [this, bytes = copied_bytes()] {
    if (device_ != nullptr) device_->set_current(communicator_.device());
    staged_.reserve(bytes, abandoned_);
  });
}

uint64_t Checkpointer::copied_bytes() const {
  constexpr uint64_t kRest = uint64_t{1} << 20;  // random streams, and where files begin
  const auto parameters = [&](const auto& visitor, auto access) {
    strategy_.visit_parameters(visitor, access);
  };
  const auto optimizer = [&](const auto& visitor, auto access) {
    strategy_.visit_optimizer_state(visitor, access);
  };
  uint64_t bytes = kRest;
  const bool whole = plan_.strategy.state_dict == "full" || plan_.model.adapter;
  int64_t numbers = table_.count();
  if (plan_.model.adapter) {
    numbers = plan_.model.trainable_parameters;
    for (const architectures::SavedCopy& copy : copies())
      numbers += table_.parameters[copy.parameter].numel();
  }
  if (!whole) bytes += saved_bytes(parameters);
  if (whole && writes_model())
    bytes += static_cast<uint64_t>(numbers) *
             (plan_.model.adapter ? sizeof(float) : c10::elementSize(weight_dtype_));
  return plan_.saving.only_model ? bytes : bytes + saved_bytes(optimizer);
}

void Checkpointer::begin_save(const CheckpointContents& contents, AfterCommit after) {
  std::unique_ptr<Save> save = open_save(contents, std::move(after));
  staged_.clear();
  std::optional<Error> failure = write_files(contents, staged_);
  if (!failure && device_ != nullptr)
    failure = attempt([&] { device_->synchronise(communicator_.device()); });
  check_collective_status(communicator_, failure, "save");
  in_flight_ = std::move(save);
  background_.start(BackgroundTask::Priority::kLow, [this] {
    staged_.write_to(in_flight_->files, abandoned_);
    in_flight_->files.sync_names();
  });
}

std::optional<std::string> Checkpointer::advance_save() {
  const std::optional<Error> failure = attempt([&] { background_.wait(); });
  // Gone when anything fails, and with it the temporary folder.
  std::unique_ptr<Save> save = std::move(in_flight_);
  check_collective_status(communicator_, failure, "save");
  using Stage = Save::Stage;
  if (save->stage == Stage::kFirstNode) {
    after_commit(*save);
    return save->path;
  }
  if (save->stage == Stage::kFiles) complete(*save);
  const bool further = save->stage == Stage::kFiles && nodes_.several();
  save->stage = further ? Stage::kFurtherNodes : Stage::kFirstNode;
  in_flight_ = std::move(save);
  if (commits() && further != writes_model())
    background_.start(BackgroundTask::Priority::kLow, [this] { commit(*in_flight_); });
  return std::nullopt;
}

std::string Checkpointer::finish_save() {
  std::optional<std::string> path;
  while (!path) path = advance_save();
  return *path;
}

std::unique_ptr<Checkpointer::Save> Checkpointer::open_save(const CheckpointContents& contents,
                                                            AfterCommit after) {
  std::unique_ptr<storage::CheckpointTransaction> transaction;
  const std::optional<Error> failure = attempt([&] {
    background_.wait();  // for the memory, before the first save
    if (!commits()) return;
    place_.check();
    check_free_space();
    transaction = std::make_unique<storage::CheckpointTransaction>(files_, plan_.output_dir, contents.step);
  });
  check_collective_status(communicator_, failure, "save");
  const std::vector<std::string> folders =
      communicator_.all_gather_text(transaction ? transaction->directory() : "");
  const std::string& folder = folders[static_cast<size_t>(nodes_.committer(communicator_.rank()))];
  auto save = std::make_unique<Save>(files_, folder, std::move(after));
  save->transaction = std::move(transaction);
  save->step = contents.step;
  save->path = storage::checkpoint_path(plan_.output_dir, contents.step);
  if (plan_.saving.for_trainer)
    save->for_trainer = trainer_run(plan_, table_, contents.training_state, contents.next_rate);
  return save;
}

// A full disk is found before anything is written; the reservations of the files are the second line.
void Checkpointer::check_free_space() const {
  const auto needed = static_cast<uint64_t>(plan_.disk.checkpoint_bytes);
  const uint64_t available = free_bytes(plan_.output_dir);
  if (needed <= available) return;
  throw Error(ExitCode::kDisk, "the next checkpoint does not fit on the disk")
      .where(plan_.output_dir)
      .why("it takes " + format_bytes(needed) + ", and " + format_bytes(available) + " are free")
      .hint(
          "free space and start again: the run goes on from its newest checkpoint; --save_total_limit N "
          "keeps "
          "fewer");
}

std::vector<std::vector<storage::FileRecord>> Checkpointer::join_records(
    const std::vector<storage::FileRecord>& own) {
  std::vector<std::vector<storage::FileRecord>> records;
  for (const std::string& text : communicator_.all_gather_text(records_text(own)))
    records.push_back(records_of(text));
  return records;
}

// All files are where their ranks wrote them: now in every folder, and in the manifest.
void Checkpointer::complete(Save& save) {
  const auto records = join_records(save.files.records());
  if (nodes_.several()) {
    check_collective_status(communicator_, attempt([&] {
                              spread_files(communicator_, nodes_, records, save.files.directory(), files_);
                            }),
                            "save");
  }
  storage::Manifest& manifest = save.manifest;
  for (const auto& of_rank : records)
    manifest.files.insert(manifest.files.end(), of_rank.begin(), of_rank.end());
  manifest.step = save.step;
  manifest.world_size = communicator_.world_size();
  manifest.plan_hash = plan::plan_hash(plan_);
  manifest.hftrain_version = plan_.hftrain_version;
  manifest.time = unix_seconds();
  manifest.identity = plan::run_identity(plan_);
}

// From the files of all ranks: no rank holds what is asked for here.
void Checkpointer::add_trainer_files(Save& save) {
  if (!save.for_trainer) return;
  storage::StagedFiles target(files_, save.transaction->directory());
  interchange::write_trainer_files(*save.for_trainer, target);
  target.sync_names();
  save.manifest.files.insert(save.manifest.files.end(), target.records().begin(), target.records().end());
}

void Checkpointer::commit(Save& save) {
  place_.check();
  add_trainer_files(save);
  save.transaction->commit(save.manifest, kVerifyingThreads, progress_);
  if (save.after && !nodes_.several()) save.after();
}

// Of several folders none may lose an older checkpoint before all have the new one.
void Checkpointer::after_commit(Save& save) {
  if (!nodes_.several() || !save.after) return;
  check_collective_status(communicator_, commits() ? attempt(save.after) : std::nullopt, "save");
}

// Weights come first: a rank that failed before them would leave the others waiting for its parts.
std::optional<Error> Checkpointer::write_files(const CheckpointContents& contents, SaveTarget& target) {
  const int rank = communicator_.rank();
  const bool whole = plan_.strategy.state_dict == "full" || plan_.model.adapter;  // which is small
  std::optional<Error> failure = attempt([&] {
    if (whole) {
      write_model(rank == 0 ? &target : nullptr);
    } else {
      save_sharded_weights(strategy_, rank, target);
    }
  });
  if (failure) return failure;
  return attempt([&] {
    if (rank == 0) {
      save_model_files(plan_.model, target);
      target.put("trainer_state.json", contents.trainer_state);
    }
    if (!plan_.saving.only_model) {
      if (rank == 0) target.put(kTrainingState, dump_json(contents.training_state) + '\n');
      save_optimizer(strategy_, rank, target);
      save_rank_state(contents.rank_state, rank, target);
    }
  });
}

void Checkpointer::write_model(SaveTarget* target) {
  if (plan_.model.adapter) return save_adapter(table_, weight_dtype_, trained(), copies(), strategy_, target);
  save_weights(table_, weight_dtype_, strategy_, plan_.saving.max_shard_bytes, target);
}

LoadedWeights Checkpointer::load_model(const std::string& folder, const OpeningRules& rules) {
  const bool goes_on = folder == plan_.saving.resume_from;
  return load_weights_of(goes_on ? interchange::open_saved_weights : interchange::open_weights, folder,
                         rules);
}

LoadedWeights Checkpointer::load_weights_of(OpenWeights open, const std::string& folder,
                                            const OpeningRules& rules) {
  LoadedWeights loaded;
  const std::optional<Error> failure =
      attempt([&] { loaded = load_weights(table_, open(folder), strategy_, progress_, rules); });
  check_collective_status(communicator_, failure, "load the model");
  return loaded;
}

std::vector<size_t> Checkpointer::trained() const {
  std::vector<size_t> positions;
  const std::vector<int>& frozen = plan_.model.frozen;
  for (size_t i = 0; i < table_.parameters.size(); ++i) {
    if (!table_.parameters[i].buffer &&
        !std::binary_search(frozen.begin(), frozen.end(), static_cast<int>(i)))
      positions.push_back(i);
  }
  return positions;
}

std::vector<architectures::SavedCopy> Checkpointer::copies() const {
  return architectures::saved_copies(table_, plan_.model.adapter->spec);
}

void Checkpointer::load_saved(const std::string& folder) {
  if (plan_.model.adapter) return load_adapter_by(open_saved_adapter, folder);
  load_weights_of(interchange::open_saved_weights, folder, {});
}

void Checkpointer::check_saved(const std::string& folder) const {
  if (plan_.model.adapter) return check_stored_adapter(table_, trained(), open_saved_adapter(folder));
  check_stored(table_, interchange::open_saved_weights(folder));
}

void Checkpointer::load_adapter_of(const std::string& folder) {
  load_adapter_by(
      [](const std::string& own) { return storage::StoredWeights(own, architectures::kAdapterWeightsName); },
      folder);
}

void Checkpointer::load_adapter_by(OpenWeights open, const std::string& folder) {
  const std::optional<Error> failure = attempt([&] {
    const std::vector<std::string> unused =
        load_adapter(table_, trained(), copies(), open(folder), strategy_, progress_);
    // Beside it a config has said what it is, but in the parts of FSDP.
    if (!path_exists(folder + '/' + architectures::kAdapterConfigName)) refuse_unused(folder, unused);
  });
  check_collective_status(communicator_, failure, "load the adapter");
}

bool has_training_state(const std::string& checkpoint) {
  return path_exists(checkpoint + '/' + kTrainingState);
}

CheckpointContents Checkpointer::load_training_state(const std::string& checkpoint) {
  CheckpointContents contents;
  const std::optional<Error> failure = attempt([&] {
    const std::string path = checkpoint + '/' + kTrainingState;
    if (!has_training_state(checkpoint)) {
      throw Error(ExitCode::kData, "this checkpoint holds a model but no training state")
          .where(checkpoint)
          .why("there is neither hftrain_state.json nor trainer_state.json")
          .hint("start a new run from its weights with --model_name_or_path");
    }
    contents.training_state = read_json_file(path);
    contents.step = contents.training_state.at("state").at("global_step").get<int64_t>();
    load_optimizer(strategy_, checkpoint, progress_);
    const int saved_ranks = contents.training_state.at("world_size").get<int>();
    if (has_rank_state(checkpoint, communicator_.rank()))
      contents.rank_state = load_rank_state(checkpoint, communicator_.rank());
    if (saved_ranks != communicator_.world_size())
      contents.rank_state.loss_sum = mean_loss_sum(checkpoint, saved_ranks);
  });
  check_collective_status(communicator_, failure, "load the training state");
  return contents;
}

std::vector<std::string> Checkpointer::kept_by_all() {
  std::vector<std::string> kept;
  for (const std::string& text : communicator_.all_gather_text(Json(kept_states(strategy_)).dump())) {
    for (const Json& state : Json::parse(text)) {
      if (std::find(kept.begin(), kept.end(), state.get<std::string>()) == kept.end()) kept.push_back(state);
    }
  }
  return kept;
}

TrainerResume Checkpointer::load_trainer_state(const std::string& checkpoint) {
  TrainerResume resume;
  const std::vector<std::string> kept = kept_by_all();
  const std::optional<Error> failure = attempt([&] {
    resume.without_state =
        load_trainer_optimizer(strategy_, kept, trainer_groups(plan_, table_), table_, checkpoint, progress_);
    const auto schedule = interchange::read_trainer_schedule(checkpoint);
    resume.schedule = schedule
                          ? *schedule
                          : interchange::TrainerSchedule{interchange::deepspeed_schedule_steps(checkpoint),
                                                         plan_.optimizer.learning_rate};
    resume.scaler = interchange::read_trainer_scaler(checkpoint);
    const int rank = communicator_.rank();
    const int local_rank = plan_.ranks.ranks[static_cast<size_t>(rank)].local_rank;
    const interchange::TrainerRandom random = interchange::read_trainer_random(checkpoint, rank, local_rank);
    resume.random = {random.cpu, random.device};
  });
  check_collective_status(communicator_, failure, "load the Trainer's state");
  return resume;
}

void Checkpointer::export_model(const std::string& folder) {
  const std::string staging = folder + '/' + std::string(storage::kModelStaging);
  const auto records = stage_model(folder, staging);
  std::optional<Error> failure;
  if (commits()) failure = attempt([&] { publish_model(records.front(), staging, folder); });
  check_collective_status(communicator_, failure, "write the model");
}

void Checkpointer::rehearse_model(const std::string& folder) {
  const std::string staging = folder + '/' + std::string(storage::kModelStaging);
  const auto remove = [&] {
    if (commits()) storage::try_to_remove(files_, staging);  // what stays goes when the model is written
  };
  try {
    stage_model(folder, staging);
  } catch (...) {
    remove();
    throw;
  }
  remove();
}

std::vector<std::vector<storage::FileRecord>> Checkpointer::stage_model(const std::string& folder,
                                                                        const std::string& staging) {
  std::optional<storage::StagedFiles> staged;
  std::optional<Error> failure;
  if (commits()) {
    failure = attempt([&] {
      place_.check();
      files_.make_directory(folder);
      storage::try_to_remove(files_, staging);  // what cannot be removed is written over
      files_.make_directory(staging);
      if (writes_model()) staged.emplace(files_, staging);
    });
  }
  std::optional<DirectTarget> target;
  if (staged) target.emplace(*staged);
  const std::optional<Error> unwritten = attempt([&] { write_model(target ? &*target : nullptr); });
  if (!failure) failure = unwritten;
  if (staged && !failure) {
    failure = attempt([&] {
      save_model_files(plan_.model, *target);
      staged->sync_names();
    });
  }
  check_collective_status(communicator_, failure, "write the model");
  auto records = join_records(staged ? staged->records() : std::vector<storage::FileRecord>());
  if (nodes_.several()) {
    failure = attempt([&] { spread_files(communicator_, nodes_, records, staging, files_); });
    check_collective_status(communicator_, failure, "write the model");
  }
  return records;
}

void Checkpointer::publish_model(const std::vector<storage::FileRecord>& records, const std::string& staging,
                                 const std::string& folder) {
  std::set<std::string> written;
  for (const storage::FileRecord& record : records) {
    files_.rename(staging + '/' + record.path, folder + '/' + record.path);
    written.insert(record.path);
  }
  for (const std::string& name : weight_files(folder)) {
    // The weights beside an adapter may be those that it stands on.
    if (written.count(name) == 0 && !plan_.model.adapter) files_.remove(folder + '/' + name);
  }
  files_.sync_directory(folder);
  storage::try_to_remove(files_, staging);  // nothing of worth is in it; the next export tries again
}

}  // namespace hftrain::checkpoint
