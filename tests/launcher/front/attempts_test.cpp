#include "launcher/front/attempts.h"

#include <filesystem>
#include <fstream>

#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

launcher::JobResult failed(ExitCode code, bool stop_asked = false) {
  launcher::JobResult result;
  result.code = code;
  result.reason = exit_code_name(code);
  result.stop_asked = stop_asked;
  launcher::FailureReport report;
  report.rank = 1;
  report.summary.what = "rank 1 was killed by SIGKILL (signal 9)";
  if (code != ExitCode::kDone) result.failure = report;
  return result;
}

// With that many seconds of training in its state.
std::string checkpoint_of(const std::string& output_dir, int64_t step, double seconds) {
  storage::PosixFileSystem files;
  storage::CheckpointTransaction transaction(files, output_dir, step);
  storage::StagedFiles staged(files, transaction.directory());
  staged.put("hftrain_state.json", dump_json({{"state", {{"update_seconds", seconds}}}}));
  staged.sync_names();
  storage::Manifest manifest;
  manifest.files = staged.records();
  return transaction.commit(std::move(manifest));
}

}  // namespace

TEST_CASE("only losses and internal errors are worth another attempt, and nothing is after a stop") {
  for (int number = 0; number < 256; ++number) {
    const std::optional<ExitCode> code = launcher::documented_code(number);
    if (!code) continue;
    INFO(number);
    CHECK(is_worth_restarting(*code, false) == (number == 1 || number == 9));
    CHECK_FALSE(is_worth_restarting(*code, true));
  }
}

TEST_CASE("a checkpoint is one of rank 0 at its place in the run's folder, whoever names another") {
  using Kind = plan::WorkerEvent::Kind;
  const auto told = [](Kind kind, int rank, const Json& data) {
    return committed_checkpoint({kind, rank, 1.0, data}, "/runs/a");
  };
  CHECK(told(Kind::kCheckpoint, 0, {{"step", 5}, {"path", "/runs/a/checkpoint-5"}}) ==
        "/runs/a/checkpoint-5");
  CHECK_FALSE(told(Kind::kCheckpoint, 1, {{"step", 5}, {"path", "/runs/a/checkpoint-5"}}));
  CHECK_FALSE(told(Kind::kMessage, 0, {{"step", 5}, {"path", "/runs/a/checkpoint-5"}}));
  for (const char* path :
       {"/home/user/thesis", "/runs/a", "/runs/a/../b/checkpoint-5", "/runs/a/checkpoint-6", ""})
    CHECK_FALSE(told(Kind::kCheckpoint, 0, {{"step", 5}, {"path", path}}));
  CHECK_FALSE(told(Kind::kCheckpoint, 0, Json::object()));
}

TEST_CASE("one restart is not the last of several") {
  Attempts attempts(1, "");
  CHECK(attempts.restart_after(failed(ExitCode::kWorkerLost), 3, 1.5));
  CHECK_FALSE(attempts.restart_after(failed(ExitCode::kWorkerLost), 3, 1.5));
  CHECK(attempts.notices() == std::vector<std::string>{"that was the one restart"});
}

TEST_CASE("restarts are used up one by one and all attempts are on record") {
  Attempts attempts(2, "/runs/checkpoint-5");
  CHECK(attempts.restart_after(failed(ExitCode::kWorkerLost), 3, 1.5));
  attempts.find_start();
  CHECK(attempts.resume_from() == "/runs/checkpoint-5");
  CHECK(attempts.notices().back() == "starting again, from /runs/checkpoint-5 (restart 1 of 2)");
  CHECK(attempts.restart_after(failed(ExitCode::kInternal), 4, 1.5));
  CHECK_FALSE(attempts.restart_after(failed(ExitCode::kWorkerLost), 5, 1.5));
  CHECK(attempts.notices() == std::vector<std::string>{"that was the last of 2 restarts"});
  REQUIRE(attempts.record().size() == 3);
  CHECK(attempts.record()[0]["attempt"] == 3);
  CHECK(attempts.record()[0]["rank"] == 1);
  CHECK(attempts.record()[2]["resumed_from"] == "/runs/checkpoint-5");
}

TEST_CASE("an attempt that this program's own error ends is on record, once, as it failed") {
  Attempts attempts(2, "/runs/checkpoint-5");
  const Error error(ExitCode::kEnvironment, "cannot start a worker");
  attempts.break_off(error);
  CHECK(attempts.record().empty());
  attempts.begin(3);
  attempts.break_off(error);
  attempts.break_off(error);
  REQUIRE(attempts.record().size() == 1);
  const Json& entry = attempts.record()[0];
  CHECK(entry["attempt"] == 3);
  CHECK(entry["exit_code"] == 3);
  CHECK(entry["what"] == "cannot start a worker");
  CHECK(entry["resumed_from"] == "/runs/checkpoint-5");
  attempts.begin(4);
  attempts.restart_after(failed(ExitCode::kWorkerLost), 4, 1.5);
  attempts.break_off(error);  // between two attempts
  CHECK(attempts.record().size() == 2);
}

TEST_CASE("without --max_restarts and after an orderly end nothing is said") {
  Attempts none(0, "");
  CHECK_FALSE(none.restart_after(failed(ExitCode::kWorkerLost), 0, 1));
  CHECK(none.notices().empty());
  Attempts some(3, "");
  CHECK_FALSE(some.restart_after(failed(ExitCode::kDone), 0, 1));
  CHECK(some.notices().empty());
  CHECK(some.record()[0]["resumed_from"].is_null());
}

TEST_CASE("a restart passes over checkpoints that do not verify and says so") {
  const testing::TemporaryDirectory folder;
  create_directories(folder / "checkpoint-2");
  const RestartPoint point = find_restart_point({folder / "checkpoint-1", folder / "checkpoint-2"}, "origin");
  CHECK(point.from == "origin");
  REQUIRE(point.notices.size() == 2);
  CHECK(point.notices[0].find("checkpoint-2") != std::string::npos);
}

TEST_CASE("an attempt inherits the training behind its checkpoint, of this run alone") {
  const testing::TemporaryDirectory folder;
  const std::string origin = checkpoint_of(folder.path(), 5, 100);
  Attempts attempts(3, origin);
  CHECK(attempts.inherited_seconds() == 0);
  CHECK(attempts.restart_after(failed(ExitCode::kWorkerLost), 0, 60));
  attempts.find_start();
  CHECK(attempts.inherited_seconds() == 0);  // as the first one began
  attempts.committed(checkpoint_of(folder.path(), 10, 130));
  CHECK(attempts.restart_after(failed(ExitCode::kWorkerLost), 1, 60));
  attempts.find_start();
  std::filesystem::remove_all(attempts.resume_from());  // a later save may take its place
  CHECK(attempts.inherited_seconds() == 30);
  attempts.begin_anew();
  CHECK(attempts.inherited_seconds() == 0);
}

}  // namespace hftrain::front
