#include "hftrain/checkpoint/checkpointer.h"

#include <optional>

#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/model_files.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/checkpoint/trainer_checkpoint.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/plan/identity.h"
#include "hftrain/runtime/thread_device.h"

namespace hftrain::checkpoint {
namespace {

constexpr int kVerifyingThreads = 4;

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

Checkpointer::Checkpointer(const CheckpointedRun& run, storage::FileSystem& files,
                           const runtime::DeviceRuntime* device, storage::ByteProgress progress)
    : run_(run),
      progress_(std::move(progress)),
      files_(files, progress_),
      device_(device),
      nodes_(run.plan),
      place_(run.plan.output_dir),
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
  check_collective_status(run_.communicator, failure, "save");
  complete(*save);
  if (nodes_.several()) {
    failure = run_.writes_model() || !commits() ? std::nullopt : attempt([&] { commit(*save); });
    check_collective_status(run_.communicator, failure, "save");
  }
  failure = run_.writes_model() ? attempt([&] { commit(*save); }) : std::nullopt;
  check_collective_status(run_.communicator, failure, "save");
  after_commit(*save);
  return save->path;
}

void Checkpointer::rehearse(const CheckpointContents& contents) {
  const std::unique_ptr<Save> save = open_save(contents, {});
  check_collective_status(run_.communicator, write_for_rehearsal(contents, *save), "rehearse a save");
  complete(*save);
  std::optional<Error> failure;
  if (commits())
    failure = attempt([&] {
      add_trainer_files(*save);
      save->transaction->seal(save->manifest, kVerifyingThreads, progress_);
    });
  check_collective_status(run_.communicator, failure, "rehearse a save");
}

std::optional<Error> Checkpointer::write_for_rehearsal(const CheckpointContents& contents, Save& save) {
  std::optional<Error> failure;
  if (run_.plan.saving.asynchronous) {
    staged_.clear();
    failure = write_files(contents, staged_);
    if (!failure && device_ != nullptr)
      failure = attempt([&] { device_->synchronise(run_.communicator.device()); });
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
    runtime::work_for(run_.communicator.device());
    staged_.reserve(bytes, abandoned_);
  });
}

uint64_t Checkpointer::copied_bytes() const {
  constexpr uint64_t kRest = uint64_t{1} << 20;  // random streams, and where files begin
  const auto parameters = [&](const auto& visitor, auto access) {
    run_.strategy.visit_parameters(visitor, access);
  };
  const auto optimizer = [&](const auto& visitor, auto access) {
    run_.strategy.visit_optimizer_state(visitor, access);
  };
  uint64_t bytes = kRest;
  const bool whole = run_.plan.strategy.state_dict == "full";
  if (!whole) bytes += saved_bytes(parameters);
  if (whole && run_.writes_model()) bytes += model_bytes(run_);
  return run_.plan.saving.only_model ? bytes : bytes + saved_bytes(optimizer);
}

void Checkpointer::begin_save(const CheckpointContents& contents, AfterCommit after) {
  std::unique_ptr<Save> save = open_save(contents, std::move(after));
  staged_.clear();
  std::optional<Error> failure = write_files(contents, staged_);
  if (!failure && device_ != nullptr)
    failure = attempt([&] { device_->synchronise(run_.communicator.device()); });
  check_collective_status(run_.communicator, failure, "save");
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
  check_collective_status(run_.communicator, failure, "save");
  using Stage = Save::Stage;
  if (save->stage == Stage::kFirstNode) {
    after_commit(*save);
    return save->path;
  }
  if (save->stage == Stage::kFiles) complete(*save);
  const bool further = save->stage == Stage::kFiles && nodes_.several();
  save->stage = further ? Stage::kFurtherNodes : Stage::kFirstNode;
  in_flight_ = std::move(save);
  if (commits() && further != run_.writes_model())
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
    transaction =
        std::make_unique<storage::CheckpointTransaction>(files_, run_.plan.output_dir, contents.step);
  });
  check_collective_status(run_.communicator, failure, "save");
  const std::vector<std::string> folders =
      run_.communicator.all_gather_text(transaction ? transaction->directory() : "");
  const std::string& folder = folders[static_cast<size_t>(nodes_.committer(run_.communicator.rank()))];
  auto save = std::make_unique<Save>(files_, folder, std::move(after));
  save->transaction = std::move(transaction);
  save->step = contents.step;
  save->path = storage::checkpoint_path(run_.plan.output_dir, contents.step);
  if (run_.plan.saving.for_trainer)
    save->for_trainer = trainer_run(run_.plan, run_.table, contents.training_state, contents.next_rate);
  return save;
}

// A full disk is found before anything is written; the reservations of the files are the second line.
void Checkpointer::check_free_space() const {
  const auto needed = static_cast<uint64_t>(run_.plan.disk.checkpoint_bytes);
  const uint64_t available = free_bytes(run_.plan.output_dir);
  if (needed <= available) return;
  throw Error(ExitCode::kDisk, "the next checkpoint does not fit on the disk")
      .where(run_.plan.output_dir)
      .why("it takes " + format_bytes(needed) + ", and " + format_bytes(available) + " are free")
      .hint(
          "free space and start again: the run goes on from its newest checkpoint; --save_total_limit N "
          "keeps "
          "fewer");
}

// All files are where their ranks wrote them: now in every folder, and in the manifest.
void Checkpointer::complete(Save& save) {
  const auto records = join_records(run_.communicator, save.files.records());
  if (nodes_.several()) {
    check_collective_status(
        run_.communicator,
        attempt([&] { spread_files(run_.communicator, nodes_, records, save.files.directory(), files_); }),
        "save");
  }
  storage::Manifest& manifest = save.manifest;
  for (const auto& of_rank : records)
    manifest.files.insert(manifest.files.end(), of_rank.begin(), of_rank.end());
  manifest.step = save.step;
  manifest.world_size = run_.communicator.world_size();
  manifest.plan_hash = plan::plan_hash(run_.plan);
  manifest.hftrain_version = run_.plan.hftrain_version;
  manifest.time = unix_seconds();
  manifest.identity = plan::run_identity(run_.plan);
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
  check_collective_status(run_.communicator, commits() ? attempt(save.after) : std::nullopt, "save");
}

// Weights come first: a rank that failed before them would leave the others waiting for its parts.
std::optional<Error> Checkpointer::write_files(const CheckpointContents& contents, SaveTarget& target) {
  const int rank = run_.communicator.rank();
  const bool whole = run_.plan.strategy.state_dict == "full";
  std::optional<Error> failure = attempt([&] {
    if (whole) {
      write_model(run_, rank == 0 ? &target : nullptr);
    } else {
      save_sharded_weights(run_.strategy, rank, target);
    }
  });
  if (failure) return failure;
  return attempt([&] {
    if (rank == 0) {
      save_model_files(run_.plan.model, target);
      target.put("trainer_state.json", contents.trainer_state);
    }
    if (!run_.plan.saving.only_model) {
      if (rank == 0) target.put(kTrainingStateName, dump_json(contents.training_state) + '\n');
      save_optimizer(run_.strategy, rank, target);
      save_rank_state(contents.rank_state, rank, target);
    }
  });
}

}  // namespace hftrain::checkpoint
