// Real saves with trouble at every file operation: whole and sharded weights, optimizer, random streams,
// deletions; at once and in the background.
#include <filesystem>
#include <functional>

#include "checkpoint/small_run.h"
#include "comm/rank_processes.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "storage/fault_injecting_file_system.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::Crash;
using testing::FaultInjectingFileSystem;
using testing::SmallRun;
using testing::TemporaryDirectory;
using Trouble = FaultInjectingFileSystem::Trouble;

struct SaveMode {
  std::string state_dict;
  bool in_background = false;
};

// Steps 10 and 20 are there; 30 and 40 follow, and each deletes the oldest.
struct TroubledRun {
  explicit TroubledRun(SaveMode how) : mode(std::move(how)) {
    FaultInjectingFileSystem files;  // without trouble; it spares the disk thousands of syncs
    SmallRun run(files, folder.path(), mode.state_dict);
    run.save(10, false);
    run.save(20, false);
  }

  void go_on(storage::FileSystem& files, int64_t& committed) const {
    SmallRun run(files, folder.path(), mode.state_dict);
    for (const int64_t step : {30, 40}) {
      run.save(step, mode.in_background);
      committed = step;
    }
  }

  // As the next start of the run finds it.
  void check_after(int64_t committed) const {
    FaultInjectingFileSystem files;
    storage::clean_leftovers(files, folder.path());
    const storage::NewestCheckpoint newest = storage::newest_verified_checkpoint(folder.path());
    REQUIRE(newest.checkpoint);
    CHECK(newest.skipped.empty());
    CHECK(newest.checkpoint->step >= committed);
    SmallRun run(files, folder.path(), mode.state_dict);
    CHECK(run.holds(newest.checkpoint->path, newest.checkpoint->step));
    for (const auto& item : std::filesystem::directory_iterator(folder.path()))
      CHECK(item.path().filename().string().starts_with("checkpoint-"));
  }

  SaveMode mode;
  TemporaryDirectory folder;
};

int count_operations(const SaveMode& mode) {
  const TroubledRun fixture(mode);
  FaultInjectingFileSystem files;
  int64_t committed = 20;
  fixture.go_on(files, committed);
  REQUIRE(committed == 40);
  fixture.check_after(40);
  return files.operations();
}

void for_every_operation(const std::function<void(const SaveMode&, int operation)>& check) {
  const SaveMode mode{GENERATE(as<std::string>{}, "full", "sharded"), GENERATE(false, true)};
  const int operations = count_operations(mode);
  REQUIRE(operations > 60);
  for (int k = 0; k < operations; ++k) {
    INFO(mode.state_dict << (mode.in_background ? " in the background" : "") << ", operation " << k);
    check(mode, k);
  }
}

std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
    if (!item.is_regular_file() || item.path().filename() == storage::kManifestName) continue;
    contents[std::filesystem::relative(item.path(), folder)] = read_file(item.path());
  }
  return contents;
}

}  // namespace

TEST_CASE("a save in the background leaves the same bytes as one at once") {
  const std::string state_dict = GENERATE(as<std::string>{}, "full", "sharded");
  const TemporaryDirectory at_once, later;
  FaultInjectingFileSystem files;
  SmallRun(files, at_once.path(), state_dict).save(7, false);
  SmallRun(files, later.path(), state_dict).save(7, true);
  const auto expected = contents_of(at_once / "checkpoint-7");
  CHECK(expected.size() == 7);
  CHECK(contents_of(later / "checkpoint-7") == expected);
}

TEST_CASE("a crash at any operation of a real save leaves the newest committed checkpoint") {
  const bool lose = GENERATE(false, true);
  for_every_operation([&](const SaveMode& mode, int k) {
    const TroubledRun fixture(mode);
    FaultInjectingFileSystem files(Trouble::kCrash, k);
    int64_t committed = 20;
    CHECK_THROWS_AS(fixture.go_on(files, committed), Crash);
    if (lose) files.lose_unsynced();
    fixture.check_after(committed);
  });
}

TEST_CASE("a full or broken disk at any operation of a real save is code 7 and spares what was committed") {
  const Trouble trouble = GENERATE(Trouble::kDiskFull, Trouble::kWriteError);
  for_every_operation([&](const SaveMode& mode, int k) {
    const TroubledRun fixture(mode);
    FaultInjectingFileSystem files(trouble, k);
    int64_t committed = 20;
    try {
      fixture.go_on(files, committed);
      CHECK_FALSE(files.failed_in_save());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kDisk);
    }
    fixture.check_after(committed);
  });
}

TEST_CASE("a save that cannot fit is refused before a byte is written") {
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files;
  SmallRun run(files, folder.path(), "full");
  run.plan().disk.checkpoint_bytes = int64_t{1} << 60;
  const bool in_background = GENERATE(false, true);
  try {
    run.save(1, in_background);
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK_THAT(error.render(), Catch::Contains("does not fit"));
  }
  CHECK(files.operations() == 0);
}

TEST_CASE("a save that is given up leaves nothing") {
  const TemporaryDirectory folder;
  FaultInjectingFileSystem files;
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  testing::RowStrategy strategy(0, 1, {{"w", "", at::arange(8, at::kFloat).view({4, 2})}});
  architectures::ParameterTable table;
  table.parameters.emplace_back();
  table.parameters[0].name = "w";
  table.parameters[0].shape = {4, 2};
  plan::RunPlan plan;
  plan.output_dir = folder.path();
  plan.model.config = Json::object();
  {
    Checkpointer checkpointer({plan, table, at::kFloat, strategy, *communicator}, files);
    checkpointer.begin_save(
        {.step = 3, .training_state = Json::object(), .trainer_state = "{}", .rank_state = {}});
    CHECK(checkpointer.saving());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

namespace {

// The disk of one of two ranks is full at each of its operations in turn.
void fail_everywhere(const testing::Rank& rank, int failing) {
  const TemporaryDirectory own_folder;
  const auto communicator = rank.connect();
  const std::string output = communicator->all_gather_text(own_folder.path()).front();
  const at::Tensor whole = at::arange(12, at::kFloat).view({6, 2});
  testing::RowStrategy strategy(rank.rank(), 2, {{"w", "", whole}, {"w", "exp_avg", whole * 2}});
  architectures::ParameterTable table;
  table.parameters.emplace_back();
  table.parameters[0].name = "w";
  table.parameters[0].shape = {6, 2};
  plan::RunPlan plan;
  plan.output_dir = output;
  plan.model.config = Json::object();
  plan.strategy.state_dict = "sharded";
  CheckpointContents contents;
  contents.training_state = Json::object();
  contents.trainer_state = "{}";
  int operations = 1;  // of the failing rank; measured by the first save
  for (int k = -1; k < operations; ++k) {
    const bool fails = k >= 0 && rank.rank() == failing;
    FaultInjectingFileSystem files(fails ? Trouble::kDiskFull : Trouble::kNone, k);
    Checkpointer checkpointer({plan, table, at::kFloat, strategy, *communicator}, files);
    contents.step = k + 2;
    ExitCode code = ExitCode::kDone;
    try {
      checkpointer.begin_save(contents);
      checkpointer.finish_save();
    } catch (const Error& error) {
      code = error.code();
    }
    INFO("operation " << k);
    CHECK(code == (k < 0 ? ExitCode::kDone : ExitCode::kDisk));
    CHECK_FALSE(checkpointer.saving());
    if (k < 0) {
      const auto counts = communicator->all_gather_text(std::to_string(files.operations()));
      operations = std::stoi(counts.at(static_cast<size_t>(failing)));
    }
    communicator->barrier();
    if (rank.rank() == 0) {
      // A rename or a removal needs no space: those do not fail alone, and commit or leave something to
      // clean.
      storage::PosixFileSystem real;
      storage::clean_leftovers(real, output);
      const auto newest = storage::newest_verified_checkpoint(output);
      CHECK(newest.skipped.empty());
      CHECK(newest.checkpoint);
    }
    communicator->barrier();
  }
}

const testing::RankBody kFirst("first rank's disk",
                               [](const testing::Rank& rank) { fail_everywhere(rank, 0); });
const testing::RankBody kSecond("second rank's disk",
                                [](const testing::Rank& rank) { fail_everywhere(rank, 1); });

}  // namespace

TEST_CASE("one rank's full disk ends a save in the background on all ranks with code 7", "[process]") {
  testing::require_success(testing::run_ranks("first rank's disk", 2));
  testing::require_success(testing::run_ranks("second rank's disk", 2));
}

}  // namespace hftrain::checkpoint
