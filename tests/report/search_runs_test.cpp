#include "hftrain/report/search_runs.h"

#include <sys/stat.h>

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/report/page.h"
#include "hftrain/storage/run_directory.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::report {
namespace {

using testing::TemporaryDirectory;

Json trial_of(int number, const char* state, int exit_code = 0) {
  Json trial = {{"number", number},
                {"folder", "/elsewhere/trial-" + std::to_string(number)},
                {"state", state},
                {"parameters", {{"seed", number}}}};
  if (exit_code != 0) trial["exit_code"] = exit_code;
  return trial;
}

void write_run(const std::string& folder, int exit_code, const char* reason) {
  write_file_atomically(folder + "/hftrain/log.jsonl", "{\"step\": 1, \"loss\": 2}\n");
  write_file_atomically(folder + "/hftrain/plan.json",
                        R"({"logging": {"arguments_json": "{\"seed\": 7, \"bf16\": true}"}})");
  write_file_atomically(folder + "/hftrain/summary.json",
                        dump_json({{"exit_code", exit_code}, {"reason", reason}}));
}

TEST_CASE("of a search every trial is a run, with what became of it", "[report]") {
  const TemporaryDirectory folder;
  const std::string search = folder / "s";
  write_file_atomically(
      search + "/search.json",
      dump_json({{"trials",
                  {trial_of(0, "complete"), trial_of(1, "pruned"), trial_of(2, "failed", 4),
                   trial_of(3, "failed", 9), trial_of(4, "failed", 8), trial_of(5, "running")}}}));
  write_run(search + "/trial-0", 0, "finished");
  write_run(search + "/trial-1", 143, "terminated");
  write_file_atomically(search + "/trial-2.log", "a warning\nerror: no such file\n  where: there\n");
  write_run(search + "/trial-3", 9, "worker lost");
  write_run(search + "/trial-4", 0, "finished");
  const std::vector<Run> runs = runs_of(search);
  std::vector<std::string> states;
  for (const Run& run : runs) states.push_back(run.name + ": " + run.state);
  CHECK(states == std::vector<std::string>{
                      "trial-0: finished", "trial-1: pruned: the search stopped it early",
                      "trial-2: failed (exit code 4): no such file",
                      "trial-3: failed: worker lost (exit code 9)",
                      "trial-4: failed (exit code 8): its run has finished, without a metric to go by",
                      "trial-5: ended before it had logged anything"});
  CHECK(runs[2].arguments == Json::object({{"seed", 2}}));
  CHECK(runs[2].folder == search + "/trial-2");
  const std::string page = page_of(runs, PageKind::kFile);
  CHECK(page.find("no such file") != std::string::npos);
  const size_t differing = page.find("Arguments that differ");
  REQUIRE(differing != std::string::npos);
  const std::string table = page.substr(differing, page.find("</table>", differing) - differing);
  CHECK(table.find("seed") != std::string::npos);
  CHECK(table.find("bf16") == std::string::npos);  // the same wherever it is known
  const storage::RunLock lock(search);
  CHECK(runs_of(search).back().state == "running, nothing logged yet");
}

TEST_CASE("a pipe in the place of a search's file is refused, and not waited for", "[report]") {
  const TemporaryDirectory folder;
  const std::string search = folder / "s";
  create_directories(search);
  REQUIRE(::mkfifo((search + "/search.json").c_str(), 0600) == 0);
  CHECK_REFUSED(runs_of(search), "a file of the search is no regular file");
  CHECK_REFUSED(fingerprint_of(search), "a file of the search is no regular file");
  std::filesystem::remove(search + "/search.json");
  write_file_atomically(search + "/search.json", dump_json({{"trials", {trial_of(0, "failed", 4)}}}));
  REQUIRE(::mkfifo((search + "/trial-0.log").c_str(), 0600) == 0);
  CHECK_REFUSED(runs_of(search), "where: " + search + "/trial-0.log");
}

TEST_CASE("the state of a trial is part of what a live page watches", "[report]") {
  const TemporaryDirectory folder;
  const std::string search = folder / "s";
  write_file_atomically(search + "/search.json", dump_json({{"trials", {trial_of(0, "running")}}}));
  const std::string before = fingerprint_of(search);
  write_file_atomically(search + "/search.json", dump_json({{"trials", {trial_of(0, "failed", 4)}}}));
  CHECK(fingerprint_of(search) != before);
}

TEST_CASE("a folder that holds a run and a search shows both", "[report]") {
  const TemporaryDirectory folder;
  const std::string both = folder / "s";
  write_run(both, 0, "finished");
  CHECK(runs_of(both).size() == 1);
  write_file_atomically(both + "/search.json", dump_json({{"trials", {trial_of(0, "failed", 4)}}}));
  const std::vector<Run> runs = runs_of(both);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].name == "s");
  CHECK(runs[1].name == "trial-0");
}

TEST_CASE("a list of trials of another kind than a search writes ends no report", "[report]") {
  const TemporaryDirectory folder;
  const std::string search = folder / "s";
  for (const Json& each : Json::parse(R"([null, true, -1, 2.5, "x", [], [1, [2]], {}, {"a": {}}])")) {
    CAPTURE(each);
    write_run(search, 0, "finished");
    Json odd = trial_of(0, "failed");
    for (const char* name : {"state", "exit_code", "parameters", "number"}) odd[name] = each;
    write_file_atomically(search + "/search.json", dump_json({{"trials", {each, odd}}}));
    CHECK(is_page(page_of(runs_of(search), PageKind::kFile)));
    write_file_atomically(search + "/search.json", dump_json(each));
    CHECK(runs_of(search).size() == 1);
  }
  write_file_atomically(folder / "none/search.json", R"({"trials": []})");
  CHECK_REFUSED(runs_of(folder / "none"), "there is no run in this folder");
}

}  // namespace
}  // namespace hftrain::report
