#include "launcher/front/run_record.h"

#include <sys/stat.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "hftrain/base/file.h"
#include "launcher/front/stopwatch.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

launcher::WorkerRecord finished(int rank) {
  launcher::WorkerRecord worker;
  worker.rank = rank;
  worker.finished = plan::WorkerEvent{plan::WorkerEvent::Kind::kFinished,
                                      rank,
                                      0,
                                      {{"exit_code", 0},
                                       {"stats",
                                        {{"phases", {{"train", 6.0}, {"load", 1.0}}},
                                         {"tokens_per_second", 100.0},
                                         {"rank", {{"rank", rank}, {"peak_host_bytes", 5}}}}}}};
  return worker;
}

}  // namespace

TEST_CASE("the summary joins the phases of the front program and of rank 0, and lists every rank") {
  const SummaryFacts facts{ExitCode::kDone, "finished", {{"plan", 0.5}}, 12.0, {finished(0), finished(1)},
                           Json::array(),   2};
  const Json summary = make_summary(facts);
  CHECK(summary["exit_code"] == 0);
  CHECK(summary["reason"] == "finished");
  CHECK(summary["phases"] == Json({{"plan", 0.5}, {"train", 6.0}, {"load", 1.0}}));
  CHECK(summary["goodput"] == 0.5);
  CHECK(summary["tokens_per_second"] == 100.0);
  CHECK(summary["checkpoints"]["verified"] == 2);
  CHECK(summary["ranks"][1]["peak_host_bytes"] == 5);
  SummaryFacts restarted = facts;
  restarted.inherited_seconds = 3.0;
  CHECK(make_summary(restarted)["goodput"] == 0.75);
}

TEST_CASE("the summary of a run whose workers died says nothing that nobody knows") {
  launcher::WorkerRecord lost;
  lost.rank = 0;
  const Json summary = make_summary({ExitCode::kWorkerLost, "worker lost", {}, 3.0, {lost}});
  CHECK(summary["exit_code"] == 9);
  CHECK(summary["tokens_per_second"].is_null());
  CHECK(summary["goodput"].is_null());
  CHECK(summary["checkpoints"]["written"] == 0);
  CHECK(summary["ranks"] == Json::array({{{"rank", 0}}}));
}

TEST_CASE("attempts are counted from 0 and never reuse a folder") {
  const testing::TemporaryDirectory output;
  const RunFolder folder = run_folder(output.path());
  CHECK(next_attempt(folder) == 0);
  create_directories(folder.ranks() + "/0/0");
  create_directories(folder.ranks() + "/10");
  create_directories(folder.ranks() + "/notes");
  CHECK(next_attempt(folder) == 11);
}

TEST_CASE("runs that begin at once with the same folder of logs get attempts of their own") {
  const testing::TemporaryDirectory logs;
  const RunFolder folder = run_folder("/runs/a", logs / "logs");
  std::mutex mutex;
  std::set<int> reserved;
  std::vector<std::thread> runs;
  for (int run = 0; run < 8; ++run) {
    runs.emplace_back([&] {
      const int attempt = reserve_attempt(folder);
      const std::lock_guard lock(mutex);
      reserved.insert(attempt);
    });
  }
  for (std::thread& run : runs) run.join();
  CHECK(reserved.size() == 8);
  CHECK(next_attempt(folder) == *reserved.rbegin() + 1);
  write_file_atomically(logs / "file", "");
  CHECK(reserve_attempt(run_folder("/runs/a", logs / "file")) == 0);
}

TEST_CASE("a summary of the run before is set aside when a plan is written") {
  const testing::TemporaryDirectory output;
  const RunFolder folder = run_folder(output.path());
  create_directories(folder.path);
  write_file_atomically(folder.summary(), "{}");
  write_plan(folder, plan::RunPlan{});
  CHECK_FALSE(path_exists(folder.summary()));
  CHECK(read_file(folder.summary_before()) == "{}");
  write_plan(folder, plan::RunPlan{});
  CHECK(read_file(folder.summary_before()) == "{}");
}

TEST_CASE("the commit is read from a loose reference, from packed references, or from a detached head") {
  const testing::TemporaryDirectory folder;
  const std::string commit(40, 'a');
  CHECK(git_commit("/").empty());
  write_file_atomically(folder / ".git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder / ".git/packed-refs", "# pack-refs\n" + commit + " refs/heads/main\n");
  CHECK(git_commit(folder / "sub/folder") == commit);
  write_file_atomically(folder / ".git/refs/heads/main", std::string(40, 'b') + '\n');
  CHECK(git_commit(folder.path()) == std::string(40, 'b'));
  write_file_atomically(folder / ".git/HEAD", std::string(40, 'c') + '\n');
  CHECK(git_commit(folder.path()) == std::string(40, 'c'));
}

TEST_CASE("the commit of a worktree and of a submodule is read where their .git file says") {
  const testing::TemporaryDirectory folder;
  const std::string own(40, 'a'), shared(40, 'b'), packed(40, 'c');
  write_file_atomically(folder / "main/.git/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder / "main/.git/refs/heads/side", shared + '\n');
  write_file_atomically(folder / "main/.git/packed-refs", packed + " refs/heads/other\n");
  const std::string worktree = folder / "main/.git/worktrees/side";
  write_file_atomically(worktree + "/HEAD", "ref: refs/heads/side\n");
  write_file_atomically(worktree + "/commondir", "../..\n");
  write_file_atomically(folder / "side/.git", "gitdir: " + worktree + '\n');
  CHECK(git_commit(folder / "side/sub/folder") == shared);
  write_file_atomically(worktree + "/HEAD", "ref: refs/heads/other\n");
  CHECK(git_commit(folder / "side") == packed);
  write_file_atomically(worktree + "/HEAD", own + '\n');
  CHECK(git_commit(folder / "side") == own);

  write_file_atomically(folder / "main/.git/modules/part/HEAD", "ref: refs/heads/main\n");
  write_file_atomically(folder / "main/.git/modules/part/refs/heads/main", own + '\n');
  write_file_atomically(folder / "main/part/.git", "gitdir: ../.git/modules/part\n");
  CHECK(git_commit(folder / "main/part") == own);
}

TEST_CASE("what is no commit of git is not recorded, and a .git that is no file is not waited for") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "words", "root:x:0:0\n");
  write_file_atomically(folder / "outside/.git/HEAD", "ref: ../../words\n");
  CHECK(git_commit(folder / "outside").empty());
  write_file_atomically(folder / "absolute/.git/HEAD", "ref: " + (folder / "words") + '\n');
  CHECK(git_commit(folder / "absolute").empty());
  write_file_atomically(folder / "damaged/.git/HEAD", "0a1b\n");
  CHECK(git_commit(folder / "damaged").empty());
  std::filesystem::create_directory(folder / "pipe");
  REQUIRE(::mkfifo((folder / "pipe/.git").c_str(), 0600) == 0);
  CHECK(git_commit(folder / "pipe").empty());
  std::filesystem::create_directory(folder / "endless");
  std::filesystem::create_symlink("/dev/zero", folder / "endless/.git");
  CHECK(git_commit(folder / "endless").empty());
}

TEST_CASE("each second of the front program belongs to one phase") {
  Stopwatch stopwatch;
  stopwatch.begin("parse");
  stopwatch.begin("plan");
  stopwatch.begin("parse");
  stopwatch.end();
  CHECK(stopwatch.seconds().size() == 2);
  CHECK(stopwatch.seconds().at("parse") + stopwatch.seconds().at("plan") <= stopwatch.total());
}

}  // namespace hftrain::front
