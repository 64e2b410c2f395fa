#include "hftrain/checkpoint/checkpointer.h"

#include <filesystem>
#include <optional>
#include <regex>
#include <set>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/model_files.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/plan/identity.h"

namespace hftrain::checkpoint {
namespace {

constexpr const char* kTrainingState = "hftrain_state.json";

// Runs this rank's part of a save and keeps its failure as a value, so that the ranks can tell each other
// before any of them leaves.
template <typename Callable>
std::optional<Error> attempt(Callable&& callable) {
  try {
    callable();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

// Collective. Throws on every rank when any failed: its own error, or word of the others'.
void agree_on_success(comm::Communicator& communicator, const std::optional<Error>& own) {
  const Json mine =
      own ? Json{{"code", static_cast<int>(own->code())}, {"what", own->what()}} : Json(nullptr);
  const std::vector<std::string> all = communicator.all_gather_text(mine.dump());
  if (own) throw *own;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const Json other = Json::parse(all[rank]);
    if (other.is_null()) continue;
    throw Error(static_cast<ExitCode>(other["code"].get<int>()),
                "rank " + std::to_string(rank) + " could not save")
        .why(other["what"].get<std::string>());
  }
}

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
                           const std::vector<at::Tensor>& parameters, parallel::Strategy& strategy,
                           comm::Communicator& communicator, storage::FileSystem& files)
    : plan_(plan),
      table_(table),
      parameters_(parameters),
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
  agree_on_success(communicator_, failure);
  const std::string folder =
      communicator_.all_gather_text(transaction ? transaction->directory() : "").front();

  storage::StagedFiles target(files_, folder);
  failure = attempt([&] {
    write_files(contents, target);
    target.sync_names();
  });
  agree_on_success(communicator_, failure);

  storage::Manifest manifest;
  manifest.files = join_records(communicator_.all_gather_text(records_text(target.records())));
  manifest.step = contents.step;
  manifest.world_size = communicator_.world_size();
  manifest.plan_hash = plan::plan_hash(plan_);
  manifest.hftrain_version = plan_.hftrain_version;
  manifest.time = unix_seconds();
  manifest.identity = plan::run_identity(plan_);
  std::string path = storage::checkpoint_path(plan_.output_dir, contents.step);
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
  agree_on_success(communicator_, failure);
  return path;
}

void Checkpointer::write_files(const CheckpointContents& contents, storage::StagedFiles& target) {
  if (communicator_.rank() == 0) {
    save_model_files(plan_.model.config, plan_.model.tokenizer_folder, target);
    save_weights(table_, parameters_, plan_.saving.max_shard_bytes, target);
    target.put("trainer_state.json", contents.trainer_state);
  }
  if (plan_.saving.only_model) return;
  if (communicator_.rank() == 0) target.put(kTrainingState, dump_json(contents.training_state) + '\n');
  save_optimizer(strategy_, communicator_.rank(), target);
  save_rank_state(contents.rank_state, communicator_.rank(), target);
}

std::vector<std::string> Checkpointer::load_model(const std::string& folder) {
  const storage::ModelWeights weights(folder);
  return load_weights(table_, parameters_, weights);
}

CheckpointContents Checkpointer::load_training_state(const std::string& checkpoint) {
  CheckpointContents contents;
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
  const bool same_world = contents.training_state.at("world_size") == communicator_.world_size();
  if (same_world && has_rank_state(checkpoint, communicator_.rank())) {
    contents.rank_state = load_rank_state(checkpoint, communicator_.rank());
  }
  return contents;
}

void Checkpointer::export_model(const std::string& folder) {
  files_.make_directory(folder);
  const std::string staging = folder + "/.model.tmp";
  files_.remove(staging);
  files_.make_directory(staging);
  storage::StagedFiles target(files_, staging);
  save_model_files(plan_.model.config, plan_.model.tokenizer_folder, target);
  save_weights(table_, parameters_, plan_.saving.max_shard_bytes, target);
  target.sync_names();
  std::set<std::string> written;
  for (const storage::FileRecord& record : target.records()) {
    files_.rename(staging + '/' + record.path, folder + '/' + record.path);
    written.insert(record.path);
  }
  for (const std::string& name : weight_files(folder)) {
    if (written.count(name) == 0) files_.remove(folder + '/' + name);
  }
  files_.sync_directory(folder);
  files_.remove(staging);
}

}  // namespace hftrain::checkpoint
