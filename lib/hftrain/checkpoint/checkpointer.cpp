#include "hftrain/checkpoint/checkpointer.h"

#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "hftrain/base/clock.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/joint_success.h"
#include "hftrain/checkpoint/model_files.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/plan/identity.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kTrainingState = "hftrain_state.json";

// Weights of an earlier export with another number of shards would be opened in place of the new ones.
std::vector<std::string> weight_files(const std::string& folder) {
  static const std::regex kWeights("model(-[0-9]+-of-[0-9]+)?[.]safetensors([.]index[.]json)?");
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

std::vector<storage::FileRecord> join_records(const std::vector<std::string>& texts) {
  std::vector<storage::FileRecord> records;
  for (const std::string& text : texts) {
    for (const Json& item : Json::parse(text)) {
      records.push_back({item[0].get<std::string>(), item[1].get<uint64_t>(), item[2].get<std::string>()});
    }
  }
  return records;
}

}  // namespace

Checkpointer::Checkpointer(const plan::RunPlan& plan, const architectures::ParameterTable& table,
                           at::ScalarType weight_dtype, parallel::Strategy& strategy,
                           comm::Communicator& communicator, storage::FileSystem& files)
    : plan_(plan),
      table_(table),
      weight_dtype_(weight_dtype),
      strategy_(strategy),
      communicator_(communicator),
      files_(files) {}

std::string Checkpointer::save(const CheckpointContents& contents) {
  const bool commits = communicator_.rank() == 0;
  std::optional<storage::CheckpointTransaction> transaction;
  std::optional<Error> failure;
  if (commits) {
    failure = attempt([&] { transaction.emplace(files_, plan_.output_dir, contents.step); });
  }
  agree_on_success(communicator_, failure, "save");
  const std::string folder =
      communicator_.all_gather_text(transaction ? transaction->directory() : "").front();

  storage::StagedFiles target(files_, folder);
  agree_on_success(communicator_, write_files(contents, target), "save");

  storage::Manifest manifest;
  manifest.files = join_records(communicator_.all_gather_text(records_text(target.records())));
  manifest.step = contents.step;
  manifest.world_size = communicator_.world_size();
  manifest.plan_hash = plan::plan_hash(plan_);
  manifest.hftrain_version = plan_.hftrain_version;
  manifest.time = unix_seconds();
  manifest.identity = plan::run_identity(plan_);
  std::string path = storage::checkpoint_path(plan_.output_dir, contents.step);
  failure.reset();
  if (commits) {
    failure = attempt([&] {
      path = transaction->commit(std::move(manifest));
      const storage::Verification check = storage::verify_checkpoint(path);
      if (!check.ok) {
        throw Error(ExitCode::kDisk, "a checkpoint read back differently than it was written")
            .where(path + '/' + check.file)
            .why(check.reason);
      }
    });
  }
  agree_on_success(communicator_, failure, "save");
  return path;
}

// Weights come first: a rank that failed before them would leave the others waiting for its parts.
std::optional<Error> Checkpointer::write_files(const CheckpointContents& contents,
                                               storage::StagedFiles& target) {
  const int rank = communicator_.rank();
  const bool whole = plan_.strategy.state_dict == "full";
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
      save_model_files(plan_.model.config, plan_.model.tokenizer_folder, target);
      target.put("trainer_state.json", contents.trainer_state);
    }
    if (!plan_.saving.only_model) {
      if (rank == 0) target.put(kTrainingState, dump_json(contents.training_state) + '\n');
      save_optimizer(strategy_, rank, target);
      save_rank_state(contents.rank_state, rank, target);
    }
    target.sync_names();
  });
}

void Checkpointer::write_model(storage::StagedFiles* target) {
  save_weights(table_, weight_dtype_, strategy_, plan_.saving.max_shard_bytes, target);
}

std::vector<std::string> Checkpointer::load_model(const std::string& folder) {
  std::vector<std::string> unused;
  const std::optional<Error> failure =
      attempt([&] { unused = load_weights(table_, storage::StoredWeights(folder), strategy_); });
  agree_on_success(communicator_, failure, "load the model");
  return unused;
}

CheckpointContents Checkpointer::load_training_state(const std::string& checkpoint) {
  CheckpointContents contents;
  const std::optional<Error> failure = attempt([&] {
    const std::string path = checkpoint + '/' + kTrainingState;
    if (!path_exists(path)) {
      throw Error(ExitCode::kData, "this checkpoint holds a model but no training state")
          .where(checkpoint)
          .why("it was saved with --save_only_model, or by another program")
          .hint("start a new run from its weights with --model_name_or_path");
    }
    contents.training_state = read_json_file(path);
    contents.step = contents.training_state.at("state").at("global_step").get<int64_t>();
    load_optimizer(strategy_, checkpoint);
    const int saved_ranks = contents.training_state.at("world_size").get<int>();
    if (has_rank_state(checkpoint, communicator_.rank()))
      contents.rank_state = load_rank_state(checkpoint, communicator_.rank());
    if (saved_ranks != communicator_.world_size())
      contents.rank_state.loss_sum = mean_loss_sum(checkpoint, saved_ranks);
  });
  agree_on_success(communicator_, failure, "load the training state");
  return contents;
}

void Checkpointer::export_model(const std::string& folder) {
  const std::string staging = folder + "/.model.tmp";
  std::optional<storage::StagedFiles> staged;
  std::optional<Error> failure;
  if (communicator_.rank() == 0) {
    failure = attempt([&] {
      files_.make_directory(folder);
      files_.remove(staging);
      files_.make_directory(staging);
      staged.emplace(files_, staging);
    });
  }
  const std::optional<Error> unwritten = attempt([&] { write_model(staged ? &*staged : nullptr); });
  if (!failure) failure = unwritten;
  if (staged && !failure) failure = attempt([&] { publish_model(*staged, folder); });
  agree_on_success(communicator_, failure, "write the model");
}

void Checkpointer::publish_model(storage::StagedFiles& staged, const std::string& folder) {
  save_model_files(plan_.model.config, plan_.model.tokenizer_folder, staged);
  staged.sync_names();
  std::set<std::string> written;
  for (const storage::FileRecord& record : staged.records()) {
    files_.rename(staged.directory() + '/' + record.path, folder + '/' + record.path);
    written.insert(record.path);
  }
  for (const std::string& name : weight_files(folder)) {
    if (written.count(name) == 0) files_.remove(folder + '/' + name);
  }
  files_.sync_directory(folder);
  files_.remove(staged.directory());
}

}  // namespace hftrain::checkpoint
