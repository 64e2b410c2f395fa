#include "hftrain/storage/run_directory.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

void commit(const std::string& output_dir, int64_t step) {
  PosixFileSystem files;
  CheckpointTransaction transaction(files, output_dir, step);
  StagedFiles staged(files, transaction.directory());
  staged.put("config.json", "{}");
  staged.sync_names();
  Manifest manifest;
  manifest.plan_hash = "plan of " + std::to_string(step);
  manifest.identity = {{"seed", step}};
  manifest.files = staged.records();
  transaction.commit(std::move(manifest));
}

TEST_CASE("a second run on a folder is refused until the first ends", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "deep/out";
  {
    const RunLock lock(output);
    try {
      const RunLock second(output);
      FAIL("two runs hold one folder");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      CHECK_THAT(error.diagnostics().front().why, Catch::Contains("process " + std::to_string(::getpid())));
    }
  }
  CHECK_NOTHROW(RunLock(output));
}

TEST_CASE("a killed run releases its folder", "[storage][process]") {
  const TemporaryDirectory folder;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const RunLock lock(folder.path());
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK_THROWS_AS(RunLock(folder.path()), Error);
  CHECK_THROWS_AS(move_run_aside(folder.path()), Error);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK_NOTHROW(RunLock(folder.path()));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("an output folder is fresh, foreign, or has checkpoints", "[storage]") {
  const TemporaryDirectory folder;
  CHECK(inspect_output_dir(folder / "missing").kind == OutputKind::kFresh);
  const RunLock lock(folder.path());
  std::filesystem::create_directory(folder / ".checkpoint-3.tmp-1-2");
  CHECK(inspect_output_dir(folder.path()).kind == OutputKind::kFresh);

  // A checkpoint of another trainer has no manifest.
  std::filesystem::create_directory(folder / "checkpoint-500");
  std::ofstream(folder / "model.safetensors") << "x";
  OutputState state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kForeign);
  CHECK(state.foreign_names == std::vector<std::string>{"checkpoint-500", "model.safetensors"});

  commit(folder.path(), 10);
  commit(folder.path(), 20);
  state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kCheckpoints);
  REQUIRE(state.newest.checkpoint);
  CHECK(state.newest.checkpoint->step == 20);
  REQUIRE(state.manifest);
  CHECK(state.manifest->plan_hash == "plan of 20");
  CHECK(state.manifest->identity == Json{{"seed", 20}});

  for (const int step : {10, 20}) {
    std::ofstream(checkpoint_path(folder.path(), step) + "/config.json") << "damaged";
  }
  state = inspect_output_dir(folder.path());
  CHECK(state.kind == OutputKind::kCheckpoints);
  CHECK_FALSE(state.newest.checkpoint);
  CHECK_FALSE(state.manifest);
  CHECK(state.newest.skipped.size() == 3);
}

TEST_CASE("a file that is called like a checkpoint is found, and no save replaces it", "[storage]") {
  const TemporaryDirectory folder;
  std::ofstream(folder / "checkpoint-2") << "notes";
  std::ofstream(folder / "checkpoint-02") << "x";
  std::filesystem::create_directory(folder / "checkpoint-4");
  CHECK(files_in_the_way(folder.path()) == std::vector<std::string>{"checkpoint-2"});
  try {
    commit(folder.path(), 2);
    FAIL("it was replaced");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK(error.diagnostics().front().where == folder / "checkpoint-2");
  }
  CHECK(read_file(folder / "checkpoint-2") == "notes");
}

TEST_CASE("an old run steps aside under a free name", "[storage]") {
  const TemporaryDirectory folder;
  const std::string output = folder / "out";
  CHECK(move_run_aside(output).empty());
  std::filesystem::create_directory(output);
  CHECK(move_run_aside(output).empty());
  commit(output, 1);
  std::filesystem::create_directory(output + ".old-1");
  CHECK(move_run_aside(output + "/") == output + ".old-2");
  CHECK_FALSE(std::filesystem::exists(output));
  CHECK(list_checkpoints(output + ".old-2").size() == 1);
  CHECK(std::filesystem::is_empty(output + ".old-1"));
}

}  // namespace
}  // namespace hftrain::storage
