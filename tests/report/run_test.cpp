#include "hftrain/report/run.h"

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

std::string usage_error(const std::string& path) {
  try {
    read_run(path);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST_CASE("a run is found by its folder, however that is written", "[report]") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "a/hftrain/log.jsonl", "{\"step\": 1, \"loss\": 2}\n");
  write_file_atomically(folder / "a/hftrain/events.jsonl", "{\"event\": \"start\"}\n\n{\"ev");
  create_directories(folder / "a/checkpoint-10");
  create_directories(folder / "a/checkpoint-9");
  for (const char* path : {"a", "a/", "a/hftrain", "a/./hftrain/"}) {
    CAPTURE(path);
    const Run run = read_run(folder / path);
    CHECK(run.name == "a");
    CHECK(run.folder == folder / "a");
    CHECK(run.log.metrics.at("loss").size() == 1);
    CHECK(run.events.size() == 1);
    CHECK(run.checkpoints == std::vector<std::string>{"checkpoint-9", "checkpoint-10"});
    CHECK(run.state == "ended without a word: killed, or its machine lost");
  }
}

TEST_CASE("a pipe in the place of a run's file is refused, and not waited for", "[report]") {
  const TemporaryDirectory folder;
  for (const char* name : {"log.jsonl", "plan.json", "events.jsonl", "arguments.yaml"}) {
    CAPTURE(name);
    const std::string run = folder / name;
    write_file_atomically(run + "/hftrain/log.jsonl", "{\"step\": 1, \"loss\": 2}\n");
    const std::string path = run + "/hftrain/" + name;
    std::filesystem::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    CHECK_REFUSED(read_run(run), "a file of the run is no regular file");
    CHECK_NOTHROW(fingerprint(run));
  }
  create_directories(folder / "trainers");
  REQUIRE(::mkfifo((folder / "trainers/trainer_state.json").c_str(), 0600) == 0);
  CHECK_REFUSED(read_run(folder / "trainers"), "a file of the run is no regular file");
}

TEST_CASE("the state of a run is that of its newest start", "[report]") {
  const TemporaryDirectory folder;
  const std::string run = folder / "a";
  write_file_atomically(run + "/hftrain/plan.json",
                        R"({"logging": {"run_name": "named", "arguments_json": "{\"seed\": 7}"}})");
  write_file_atomically(run + "/hftrain/summary.json", R"({"exit_code": 0, "reason": "finished"})");
  CHECK(read_run(run).state == "finished");
  CHECK(read_run(run).name == "named");
  CHECK(read_run(run).arguments == Json{{"seed", 7}});
  write_file_atomically(run + "/hftrain/summary.json", R"({"exit_code": 9, "reason": "worker lost"})");
  CHECK(read_run(run).state == "worker lost (exit code 9)");
  const std::string before = fingerprint(run);
  {
    const storage::RunLock lock(run);
    CHECK(read_run(run).state == "running");
    CHECK(fingerprint(run) != before);
  }
  write_file_atomically(run + "/hftrain/log.jsonl", "{}\n");
  CHECK(fingerprint(run) != before);
}

TEST_CASE("folders of the Python Trainer are read by their newest state", "[report]") {
  const TemporaryDirectory folder;
  write_file_atomically(folder / "t/checkpoint-5/trainer_state.json",
                        R"({"log_history": [{"step": 5, "loss": 3}]})");
  write_file_atomically(folder / "t/checkpoint-10/trainer_state.json",
                        R"({"log_history": [{"step": 5, "loss": 3}, {"step": 10, "loss": 2}]})");
  CHECK(read_run(folder / "t").log.metrics.at("loss").size() == 2);
  CHECK(read_run(folder / "t/checkpoint-5").log.metrics.at("loss").size() == 1);
}

TEST_CASE("members of another kind than a run writes end no report", "[report]") {
  const TemporaryDirectory folder;
  const std::string run = folder / "a";
  const Json odd = Json::parse(R"([null, true, -1, 2.5, 1e300, "x", [], [1, [2]], {}, {"a": {}}])");
  const std::vector<std::string> summary = {"exit_code", "reason", "seconds", "phases",
                                            "attempts",  "ranks",  "goodput", "tokens_per_second"};
  const std::vector<std::string> plan = {"logging", "batch", "data", "model", "strategy", "steps", "ranks"};
  for (const Json& each : odd) {
    CAPTURE(each);
    Json written = Json::object(), planned = Json::object(), inner = Json::object();
    for (const std::string& name : summary) written[name] = each;
    for (const char* name :
         {"run_name", "arguments_json", "global_train", "block_size", "parameters", "max_steps"})
      inner[name] = each;
    std::string events, log;
    for (const char* name : {"event", "time", "step", "tokens_per_second", "memory_bytes", "text"}) {
      Json event = {{"event", "sample"}, {"time", 1}, {"step", 1}, {"tokens_per_second", 5}};
      event[name] = each;
      events += dump_json(event, -1) + "\n" + dump_json({{"event", "warning"}, {name, each}}, -1) + '\n';
      log += dump_json({{"step", 1}, {name, each}, {"loss", each}}, -1) + '\n';
    }
    write_file_atomically(run + "/hftrain/events.jsonl", events);
    write_file_atomically(run + "/hftrain/log.jsonl", log);
    for (const bool deep : {false, true}) {
      for (const std::string& name : plan) planned[name] = deep ? inner : each;
      write_file_atomically(run + "/hftrain/plan.json", dump_json(planned));
      if (deep) {
        written["ranks"] =
            Json::array({each, {{"rank", each}, {"peak_host_bytes", each}, {"state_bytes", each}}});
        written["phases"] = {{"train", each}};
        written["attempts"] = Json::array({each, {{"seconds", each}}, each});
      }
      write_file_atomically(run + "/hftrain/summary.json", dump_json(written));
      CHECK(is_page(page_of({read_run(run), read_run(run)}, PageKind::kFile)));
      CHECK(is_page(page_of({read_run(run)}, PageKind::kFile)));
    }
  }
}

TEST_CASE("what is no run is refused, what is damaged is named", "[report]") {
  const TemporaryDirectory folder;
  create_directories(folder / "empty");
  CHECK(usage_error(folder / "empty") == "there is no run in this folder");
  CHECK(usage_error(folder / "missing") == "no such folder");
  std::filesystem::create_symlink("circle", folder / "circle");
  CHECK(usage_error(folder / "circle") == "a path cannot be looked at");
  write_file_atomically(folder / "file", "");
  CHECK(usage_error(folder / "file") == "a file is named where a folder is meant");
  write_file_atomically(folder / "a/hftrain/plan.json", "{\"x\": ");
  try {
    read_run(folder / "a");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where.find("plan.json") != std::string::npos);
  }
}

}  // namespace
}  // namespace hftrain::report
