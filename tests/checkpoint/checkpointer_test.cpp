#include "hftrain/checkpoint/checkpointer.h"
#include "hftrain/checkpoint/model_exporter.h"
#include "hftrain/checkpoint/run_loader.h"

#include <ATen/ops/arange.h>

#include <filesystem>
#include <set>

#include "checkpoint/row_strategy.h"
#include "comm/rank_processes.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/interchange/torch_writer.h"
#include "storage/fault_injecting_file_system.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::FaultInjectingFileSystem;
using testing::Rank;
using testing::RankBody;
using testing::RowStrategy;
using testing::TemporaryDirectory;

architectures::ParameterTable one_matrix() {
  architectures::ParameterTable table;
  architectures::ParameterSpec spec;
  spec.name = "w";
  spec.shape = {5, 2};
  table.parameters = {spec};
  return table;
}

std::vector<testing::WholeTensor> state() {
  return {{"w", "", at::arange(10, at::kFloat).view({5, 2})},
          {"w", "exp_avg", at::arange(10, at::kFloat).view({5, 2}).mul(2)}};
}

CheckpointContents contents(int rank, int world_size) {
  CheckpointContents contents;
  contents.step = 3;
  contents.training_state = {{"state", {{"global_step", 3}}}, {"world_size", world_size}};
  contents.trainer_state = "{}";
  contents.rank_state = {{"random " + std::to_string(rank), ""}, 1.0F + static_cast<float>(rank)};
  return contents;
}

// One rank's side of a save and of what follows.
struct Side {
  Side(const Rank& rank, storage::FileSystem& files, const std::string& state_dict)
      : communicator(rank.connect()),
        output(communicator->all_gather_text(own_folder.path()).front()),
        strategy(rank.rank(), rank.world_size(), state()) {
    plan.output_dir = output;
    plan.model.config = Json::object();
    plan.strategy.state_dict = state_dict;
    const CheckpointedRun run{plan, parameters, at::kFloat, strategy, *communicator};
    checkpointer.emplace(run, files);
    loader.emplace(run);
    exporter.emplace(run, files);
  }
  ~Side() { communicator->barrier(); }  // rank 0's folder goes last

  TemporaryDirectory own_folder;
  std::unique_ptr<comm::Communicator> communicator;
  std::string output;
  architectures::ParameterTable parameters = one_matrix();
  RowStrategy strategy;
  plan::RunPlan plan;
  std::optional<Checkpointer> checkpointer;
  std::optional<RunLoader> loader;
  std::optional<ModelExporter> exporter;
};

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

void save_and_load(const Rank& rank, const std::string& state_dict) {
  storage::PosixFileSystem files;
  Side side(rank, files, state_dict);
  const std::string path = side.checkpointer->save(contents(rank.rank(), rank.world_size()));
  CHECK(names_in(side.output) == std::set<std::string>{"checkpoint-3"});
  CHECK(path_exists(path + "/model.safetensors") == (state_dict == "full"));
  side.strategy.forget();
  side.loader->load_model(path);
  const CheckpointContents loaded = side.loader->load_training_state(path);
  CHECK(side.strategy.equals_wholes());
  CHECK(loaded.step == 3);
  CHECK(loaded.rank_state.random.cpu == "random " + std::to_string(rank.rank()));
  CHECK(loaded.rank_state.loss_sum == 1.0F + static_cast<float>(rank.rank()));
  side.exporter->export_model(side.output);
  CHECK(path_exists(side.output + "/model.safetensors"));
}

const RankBody kFull("full", [](const Rank& rank) { save_and_load(rank, "full"); });
const RankBody kSharded("sharded", [](const Rank& rank) { save_and_load(rank, "sharded"); });

// Ranks 0 and 1 are node 0, rank 2 is node 1, and each node has a folder of its own.
struct TwoNodes {
  TwoNodes(const Rank& rank, storage::FileSystem& files, const std::string& state_dict)
      : communicator(rank.connect()),
        node(rank.rank() / 2),
        strategy(rank.rank(), rank.world_size(), state()) {
    const std::vector<std::string> folders = communicator->all_gather_text(own_folder.path());
    plan.output_dir = folders[static_cast<size_t>(2 * node)];
    plan.model.config = Json::object();
    plan.strategy.state_dict = state_dict;
    plan.saving.further_nodes = {1};
    plan.ranks.ranks.resize(static_cast<size_t>(rank.world_size()));
    for (int each = 0; each < rank.world_size(); ++each) {
      plan.ranks.ranks[static_cast<size_t>(each)].rank = each;
      plan.ranks.ranks[static_cast<size_t>(each)].node = each / 2;
    }
    const CheckpointedRun run{plan, parameters, at::kFloat, strategy, *communicator};
    checkpointer.emplace(run, files);
    loader.emplace(run);
    exporter.emplace(run, files);
  }
  ~TwoNodes() { communicator->barrier(); }

  bool keeps_folder() const { return communicator->rank() != 1; }
  void loads(const std::string& checkpoint) {
    strategy.forget();
    loader->load_model(checkpoint);
    const CheckpointContents loaded = loader->load_training_state(checkpoint);
    CHECK(strategy.equals_wholes());
    CHECK(loaded.rank_state.random.cpu == "random " + std::to_string(communicator->rank()));
  }

  TemporaryDirectory own_folder;
  std::unique_ptr<comm::Communicator> communicator;
  int node;
  architectures::ParameterTable parameters = one_matrix();
  RowStrategy strategy;
  plan::RunPlan plan;
  std::optional<Checkpointer> checkpointer;
  std::optional<RunLoader> loader;
  std::optional<ModelExporter> exporter;
};

void save_on_each_node(const Rank& rank, const std::string& state_dict, bool in_background) {
  storage::PosixFileSystem files;
  TwoNodes side(rank, files, state_dict);
  int told = 0;
  const auto after = [&told] { ++told; };
  const CheckpointContents saved = contents(rank.rank(), rank.world_size());
  if (in_background) side.checkpointer->begin_save(saved, after);
  const std::string path =
      in_background ? side.checkpointer->finish_save() : side.checkpointer->save(saved, after);
  CHECK(path == side.plan.output_dir + "/checkpoint-3");
  CHECK(told == (side.keeps_folder() ? 1 : 0));
  const storage::Verification verified = storage::verify_checkpoint(path);
  INFO(verified.file << ' ' << verified.reason);
  CHECK(verified.ok);
  CHECK(path_exists(path + "/rng/rank-00002.safetensors"));
  side.loads(path);
  side.exporter->export_model(side.plan.output_dir);
  CHECK(path_exists(side.plan.output_dir + "/model.safetensors"));
  CHECK_FALSE(path_exists(side.plan.output_dir + "/.model.tmp"));
}

const RankBody kEachNode("each node", [](const Rank& rank) { save_on_each_node(rank, "full", false); });
const RankBody kEachNodeSharded("each node, sharded",
                                [](const Rank& rank) { save_on_each_node(rank, "sharded", false); });
const RankBody kEachNodeBehind("each node, in the background",
                               [](const Rank& rank) { save_on_each_node(rank, "sharded", true); });

// The disk of node 1 is full: node 0, which commits last, must not have the checkpoint either.
const RankBody kOneNodeFull("one node full", [](const Rank& rank) {
  storage::PosixFileSystem real;
  FaultInjectingFileSystem full(FaultInjectingFileSystem::Trouble::kDiskFull, 6);
  storage::FileSystem& files = rank.rank() == 2 ? static_cast<storage::FileSystem&>(full) : real;
  TwoNodes side(rank, files, "sharded");
  int told = 0;
  CHECK_REFUSED(side.checkpointer->save(contents(rank.rank(), rank.world_size()), [&told] { ++told; }),
                rank.rank() == 2 ? "No space left on device" : "rank 2 could not save");
  CHECK(told == 0);
  side.communicator->barrier();
  CHECK_FALSE(path_exists(side.plan.output_dir + "/checkpoint-3"));
});

// What accelerate leaves of FSDP with FULL_STATE_DICT: exp_avg of "w" alone.
void write_state_of_w(const std::string& folder) {
  interchange::TorchWriter file;
  const auto open = [&file](const char* key) {
    file.values().text(key);
    file.values().open_dict();
  };
  file.values().open_dict();
  open("state");
  open("w");
  file.values().text("exp_avg");
  file.tensor(storage::DType::kF32, {5, 2},
              [](const interchange::ByteSink& sink) { sink(std::string(10 * sizeof(float), '\0')); });
  for (int dict = 0; dict < 3; ++dict) file.values().close_dict();
  storage::PosixFileSystem files;
  file.finish(files, folder + "/optimizer.bin");
  std::filesystem::copy_file(testing::source_dir() + "/tests/golden/interchange/scheduler.pt",
                             folder + "/scheduler.pt");
}

// Rank 0 holds no part of the state, as where few parameters are cut among many ranks.
const RankBody kHoldsNothing("rank 0 holds nothing", [](const Rank& rank) {
  const TemporaryDirectory own_folder;
  const auto communicator = rank.connect();
  const std::string folder = communicator->all_gather_text(own_folder.path()).front();
  if (rank.rank() == 0) write_state_of_w(folder);
  communicator->barrier();
  architectures::ParameterTable parameters = one_matrix();
  parameters.parameters.push_back(parameters.parameters.front());
  parameters.parameters.back().name = "b";
  RowStrategy strategy(0, 1, rank.rank() == 0 ? std::vector<testing::WholeTensor>() : state());
  plan::RunPlan plan;
  plan.ranks.ranks.resize(static_cast<size_t>(rank.world_size()));
  RunLoader loader({plan, parameters, at::kFloat, strategy, *communicator});
  CHECK(loader.load_trainer_state(folder).without_state == std::vector<std::string>{"b"});
  communicator->barrier();  // rank 0's folder goes last
});

// The disk of one rank is full from its first operation on.
void fail_on(const Rank& rank, int failing) {
  storage::PosixFileSystem real;
  FaultInjectingFileSystem full(FaultInjectingFileSystem::Trouble::kDiskFull, 0);
  storage::FileSystem& files = rank.rank() == failing ? static_cast<storage::FileSystem&>(full) : real;
  Side side(rank, files, failing == 0 ? "full" : "sharded");
  const auto code_of = [](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.code();
    }
    return ExitCode::kDone;
  };
  CHECK(code_of([&] { side.checkpointer->save(contents(rank.rank(), rank.world_size())); }) ==
        ExitCode::kDisk);
  side.communicator->barrier();
  CHECK(names_in(side.output).empty());
  if (failing != 0) return;
  CHECK(code_of([&] { side.exporter->export_model(side.output); }) == ExitCode::kDisk);
}

const RankBody kFirstFails("first fails", [](const Rank& rank) { fail_on(rank, 0); });
const RankBody kOtherFails("other fails", [](const Rank& rank) { fail_on(rank, 1); });

}  // namespace

TEST_CASE("ranks save together and load what they saved, whole and sharded", "[process]") {
  testing::require_success(testing::run_ranks("full", 3));
  testing::require_success(testing::run_ranks("sharded", 3));
}

TEST_CASE("with a folder on each node every one of them gets the whole checkpoint and model", "[process]") {
  testing::require_success(testing::run_ranks("each node", 3));
  testing::require_success(testing::run_ranks("each node, sharded", 3));
  testing::require_success(testing::run_ranks("each node, in the background", 3));
}

TEST_CASE("a node whose disk is full keeps the checkpoint from every node", "[process]") {
  testing::require_success(testing::run_ranks("one node full", 3));
}

TEST_CASE("a full disk of one rank fails the save on all and commits nothing", "[process]") {
  testing::require_success(testing::run_ranks("first fails", 2));
  testing::require_success(testing::run_ranks("other fails", 2));
}

TEST_CASE("every rank names what the optimizer's state lacks, also one that holds no part of it",
          "[process]") {
  testing::require_success(testing::run_ranks("rank 0 holds nothing", 2));
}

TEST_CASE("a rank that the saved run did not have gets no random state, and all the mean of the losses") {
  const TemporaryDirectory folder;
  storage::PosixFileSystem files;
  storage::StagedFiles staged(files, folder.path());
  DirectTarget target(staged);
  for (const int rank : {0, 1}) save_rank_state(contents(rank, 2).rank_state, rank, target);
  CHECK(has_rank_state(folder.path(), 1));
  CHECK_FALSE(has_rank_state(folder.path(), 2));
  CHECK(mean_loss_sum(folder.path(), 2) == 1.5F);
  CHECK_REFUSED(load_rank_state(folder.path(), 2), "No such file or directory");
}

}  // namespace hftrain::checkpoint
