#include "hftrain/checkpoint/checkpointer.h"

#include <ATen/ops/arange.h>

#include <filesystem>
#include <set>

#include "checkpoint/row_strategy.h"
#include "comm/rank_processes.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "storage/fault_injecting_file_system.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::FaultInjectingFileSystem;
using testing::Rank;
using testing::RankBody;
using testing::RowStrategy;
using testing::TemporaryDirectory;

architectures::ParameterTable table() {
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
    checkpointer.emplace(plan, parameters, at::kFloat, strategy, *communicator, files);
  }
  ~Side() { communicator->barrier(); }  // rank 0's folder goes last

  TemporaryDirectory own_folder;
  std::unique_ptr<comm::Communicator> communicator;
  std::string output;
  architectures::ParameterTable parameters = table();
  RowStrategy strategy;
  plan::RunPlan plan;
  std::optional<Checkpointer> checkpointer;
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
  side.checkpointer->load_model(path);
  const CheckpointContents loaded = side.checkpointer->load_training_state(path);
  CHECK(side.strategy.equals_wholes());
  CHECK(loaded.step == 3);
  CHECK(loaded.rank_state.random.cpu == "random " + std::to_string(rank.rank()));
  CHECK(loaded.rank_state.loss_sum == 1.0F + static_cast<float>(rank.rank()));
  side.checkpointer->export_model(side.output);
  CHECK(path_exists(side.output + "/model.safetensors"));
}

const RankBody kFull("full", [](const Rank& rank) { save_and_load(rank, "full"); });
const RankBody kSharded("sharded", [](const Rank& rank) { save_and_load(rank, "sharded"); });

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
  CHECK(code_of([&] { side.checkpointer->export_model(side.output); }) == ExitCode::kDisk);
}

const RankBody kFirstFails("first fails", [](const Rank& rank) { fail_on(rank, 0); });
const RankBody kOtherFails("other fails", [](const Rank& rank) { fail_on(rank, 1); });

}  // namespace

TEST_CASE("ranks save together and load what they saved, whole and sharded", "[process]") {
  testing::require_success(testing::run_ranks("full", 3));
  testing::require_success(testing::run_ranks("sharded", 3));
}

TEST_CASE("a full disk of one rank fails the save on all and commits nothing", "[process]") {
  testing::require_success(testing::run_ranks("first fails", 2));
  testing::require_success(testing::run_ranks("other fails", 2));
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
  CHECK_THROWS_AS(load_rank_state(folder.path(), 2), Error);
}

}  // namespace hftrain::checkpoint
