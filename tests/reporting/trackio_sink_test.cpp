#include "hftrain/reporting/trackio_sink.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::reporting {
namespace {

using testing::TemporaryDirectory;

ReportedRun trackio_run(const std::string& output_dir) {
  ReportedRun run;
  run.output_dir = output_dir;
  run.project = "my project";
  run.started = 1700000000.25;
  run.arguments = R"({"learning_rate": 5e-05, "hub_token": "<HUB_TOKEN>", "model_type": "x"})";
  run.model_config = {{"n_layer", 2}, {"model_type", "of the model"}, {"_name_or_path", "p"}};
  run.parameters = 1234;
  return run;
}

std::vector<std::string> fragments_in(const std::string& store) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store + "/inbox"))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Json lines_of(const std::vector<std::string>& files) {
  Json lines = Json::array();
  for (const std::string& file : files) {
    for (const std::string& line : split(trim(read_file(file)), '\n')) lines.push_back(Json::parse(line));
  }
  return lines;
}

}  // namespace

TEST_CASE("trackio: records are lines of whole files in the inbox of the store", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string store = folder / "store";
  {
    TrackioSink sink(store, trackio_run(folder / "out"), 0);
    sink.record({1, 0.25, 1700000001.5, {{"loss", 2.5}, {"grad_norm", std::nan("")}}});
    sink.flush();
    sink.record({2, 0.5, 1700000002, {{"eval_loss", -std::numeric_limits<double>::infinity()}}});
    sink.record({2, 0.5, 1700000003.125, {{"train_runtime", 1.5}}});
    sink.flush();
    sink.end(RunEnd::kFinished);
  }
  const std::vector<std::string> files = fragments_in(store);
  REQUIRE(files.size() == 2);
  CHECK(files[0].ends_with("/00000000.jsonl"));
  CHECK(files[1].ends_with("/00000001.jsonl"));
  const Json lines = lines_of(files);
  REQUIRE(lines.size() == 3);
  CHECK(
      lines[0]["metrics"] ==
      Json{{"train/loss", 2.5}, {"train/grad_norm", "NaN"}, {"train/epoch", 0.25}, {"train/global_step", 1}});
  CHECK(lines[1]["metrics"] ==
        Json{{"eval/loss", "-Infinity"}, {"train/epoch", 0.5}, {"train/global_step", 2}});
  CHECK(lines[1]["timestamp"] == "2023-11-14T22:13:22.000000+00:00");
  CHECK(lines[2]["timestamp"] == "2023-11-14T22:13:23.125000+00:00");
  CHECK(lines[0]["config"]["learning_rate"] == 5e-05);
  CHECK_FALSE(lines[0]["config"].contains("_name_or_path"));
  CHECK(lines[1]["config"].is_null());
  CHECK(lines[0]["log_id"] != lines[1]["log_id"]);
  CHECK(lines[0]["run"] == "out");
}

TEST_CASE("trackio: a run that goes on in its folder goes on, another folder is another run", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string store = folder / "store";
  for (const char* output : {"a", "a", "b"}) {
    TrackioSink sink(store, trackio_run(folder / output));
    sink.record({1, 0, 1700000001, {{"loss", 1.0}}});
    sink.flush();
  }
  std::vector<std::string> of_a, of_b;
  for (const Json& line : lines_of(fragments_in(store)))
    (line["run"] == "a" ? of_a : of_b).push_back(line["run_id"].get<std::string>());
  REQUIRE((of_a.size() == 2 && of_b.size() == 1));
  CHECK(of_a[0] == of_a[1]);
  CHECK(of_a[0] != of_b[0]);
}

TEST_CASE("trackio: records that come quickly share a file, and none is lost at the end", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string store = folder / "store";
  TrackioSink sink(store, trackio_run(folder / "out"), 1e6);
  for (int64_t step = 1; step <= 100; ++step) {
    sink.record({step, 0, 1700000000 + static_cast<double>(step), {{"loss", 1.0}}});
    sink.flush();
  }
  CHECK(fragments_in(store).size() == 1);
  sink.end(RunEnd::kFailed);
  CHECK(fragments_in(store).size() == 2);
  CHECK(lines_of(fragments_in(store)).size() == 100);
}

TEST_CASE("trackio: a folder that the package has just removed is made again", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string store = folder / "store";
  TrackioSink sink(store, trackio_run(folder / "out"), 0);
  std::filesystem::remove_all(store + "/inbox");
  sink.record({1, 0, 1700000001, {{"loss", 1.0}}});
  sink.flush();
  CHECK(fragments_in(store).size() == 1);
}

TEST_CASE("trackio: the store is where the package looks for it", "[reporting]") {
  const auto store = [](std::map<std::string, std::string> variables) {
    return trackio_store(Environment(std::move(variables)));
  };
  CHECK(store({{"TRACKIO_DIR", "/t"}, {"HF_HOME", "/h"}}) == "/t");
  CHECK(store({{"HF_HOME", "~/hf"}, {"HOME", "/me"}}) == "/me/hf/trackio");
  CHECK(store({{"HF_HOME", "$SCRATCH/hf"}, {"SCRATCH", "/s"}}) == "/s/hf/trackio");
  CHECK(store({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/me"}}) == "/x/huggingface/trackio");
  CHECK(store({{"HOME", "/me"}}) == "/me/.cache/huggingface/trackio");
  CHECK_REFUSED(store({}), "no folder for the store of Trackio");
}

TEST_CASE("the trackio package lists the run with every record", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with trackio: set HFTRAIN_TEST_PYTHON");
  const testing::PythonResult package = testing::run_python("import trackio.fragments\n", {});
  if (package.exit_code != 0)
    HFTRAIN_SKIP("the Python package trackio, which scripts/setup does not install");
  const TemporaryDirectory folder;
  {
    TrackioSink sink(folder / "store", trackio_run(folder / "out"), 0);
    sink.record({1, 0.25, 1700000001.5, {{"loss", 2.5}, {"learning_rate", 5e-05}}});
    sink.flush();
    sink.record({2, 0.5, 1700000002, {{"loss", std::nan("")}, {"note", "text"}}});
    sink.record({2, 0.5, 1700000003.5, {{"eval_loss", 1e300}}});
    sink.end(RunEnd::kFinished);
  }
  const std::string script = R"(
import os, sys
os.environ.update(TRACKIO_DIR=sys.argv[1] + "/store", HF_HOME=sys.argv[1] + "/home")
import trackio
from trackio.server import import_inbox_once  # what `trackio show` calls when it starts, and every 15 s
from trackio.sqlite_storage import SQLiteStorage
assert import_inbox_once() == 3 and import_inbox_once() == 0
(run,) = trackio.Api().runs("my project")
assert run.name == "out" and run.id == open(sys.argv[1] + "/out/hftrain/trackio_run_id").read().strip(), run
assert run.config["learning_rate"] == 5e-05 and run.config["model_type"] == "x" and run.config["n_layer"] == 2, run.config
assert run.config["model/num_parameters"] == 1234 and "_name_or_path" not in run.config, run.config
logs = SQLiteStorage.get_logs("my project", run.name, run_id=run.id)
loss = logs[1].pop("train/loss")
assert loss != loss
assert logs == [
    {"train/loss": 2.5, "train/learning_rate": 5e-05, "train/epoch": 0.25, "train/global_step": 1, "step": 1, "timestamp": "2023-11-14T22:13:21.500000+00:00"},
    {"train/note": "text", "train/epoch": 0.5, "train/global_step": 2, "step": 2, "timestamp": "2023-11-14T22:13:22.000000+00:00"},
    {"eval/loss": 1e300, "train/epoch": 0.5, "train/global_step": 2, "step": 2, "timestamp": "2023-11-14T22:13:23.500000+00:00"}], logs
print("listed")
)";
  const testing::PythonResult result = testing::run_python(script, {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("listed"));
}

}  // namespace hftrain::reporting
