#include "hftrain/reporting/mlflow_sink.h"

#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/http/client.h"
#include "hftrain/reporting/mlflow_folder.h"
#include "hftrain/reporting/mlflow_server.h"
#include "hub/stand_in_server.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::reporting {
namespace {

using testing::TemporaryDirectory;

ReportedRun tracked_run() {
  ReportedRun run;
  run.name = "a \"name\"";
  run.started = 1700000000.25;
  run.arguments =
      R"({"learning_rate": 5e-05, "use_cpu": true, "save_total_limit": null, "fsdp": [], "odd,key": 1})";
  run.model_config = {{"n_layer", 2}, {"inner", {{"a", 1}, {"b", "x"}}}, {"../up", 1}};
  return run;
}

// Runs a whole life of a sink over a folder; where its run lies.
std::string reported(const std::string& root, const ReportedRun& run,
                     std::vector<std::string>* warnings = nullptr) {
  auto store = std::make_unique<MlflowFolder>(root);
  const MlflowFolder* kept = store.get();
  MlflowSink sink(std::move(store), run,
                  {[warnings](const std::string& text) {
                     if (warnings != nullptr) warnings->push_back(text);
                   },
                   [](double) { return false; }});
  sink.record({1, 0.25, 1700000001.5, {{"loss", 2.5}, {"eval_f1(macro)", 0.5}, {"flag", true}}});
  sink.record({2, 0.5, 1700000002.5, {{"loss", std::numeric_limits<double>::infinity()}, {"note", "text"}}});
  sink.record({3, 0.75, 1700000003.5, {{"loss", 2.0}, {"note", "text"}}});
  sink.flush();
  sink.end(RunEnd::kFinished);
  return kept->run_folder();
}

}  // namespace

TEST_CASE("a server that does not answer is told of while the run goes on, and once", "[reporting]") {
  Environment environment;
  environment.set("MLFLOW_TRACKING_URI", "http://me:mine@127.0.0.1:1");  // nobody listens there
  std::vector<std::string> warnings;
  double waited = 0;
  MlflowServer server(environment, {[&](const std::string& text) { warnings.push_back(text); },
                                    [&](double seconds) {
                                      waited += seconds;
                                      if (warnings.empty()) CHECK(waited < 10);
                                      return waited < 1000;
                                    }});
  CHECK_REFUSED(server.begin({}), "the server did not take experiments/get-by-name");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Contains("takes nothing so far: "));
  CHECK_THAT(warnings.front(), !Catch::Contains("mine"));
}

TEST_CASE("credentials that a server of MLflow repeats are not repeated", "[reporting]") {
  testing::StandInServer repeating([](int connection, const std::string& request) {
    const size_t begin = request.find("Authorization: ");
    const std::string sent = request.substr(begin, request.find('\r', begin) - begin);
    const std::string filling(250, '.');  // what is shown of an answer ends in the middle of it
    testing::StandInServer::say(connection, 401,
                                R"({"message": ")" + filling + sent + R"(, or pa:ss of me, or p%40ss"})");
  });
  const std::string host = repeating.address().substr(repeating.address().find("://"));
  Environment environment;
  // Those of the variables are sent where the address has others.
  enum class By { kToken, kVariables, kAddress };
  const By by = GENERATE(By::kToken, By::kVariables, By::kAddress);
  const bool by_token = by == By::kToken;
  environment.set("MLFLOW_TRACKING_URI", by_token ? "http" + host : "http://other:p%40ss@" + host.substr(3));
  if (by_token) environment.set("MLFLOW_TRACKING_TOKEN", std::string(60, 't'));
  environment.set("MLFLOW_TRACKING_USERNAME", by == By::kVariables ? "me" : "");
  environment.set("MLFLOW_TRACKING_PASSWORD", by == By::kVariables ? "pa:ss" : "");
  MlflowServer server(environment, {[](const std::string&) {}, [](double) { return false; }});
  try {
    server.begin({});
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK_THAT(error.render(), Catch::Contains("HTTP 401: "));
    CHECK_THAT(error.render(),
               Catch::Contains(by_token ? "Bearer <MLFLOW_TRACKING_TOKEN>" : "Basic <CREDENTIALS>"));
    for (const char* secret : {"tttt", "bWU6", "b3RoZXI6"})
      CHECK_THAT(error.render(), !Catch::Contains(secret));
  }
}

TEST_CASE("what a server repeats of a password is not shown", "[reporting]") {
  const http::Credentials url = http::credentials_in("https://me:p%40:ss@host:5000/a@b");
  CHECK(url.user == "me");
  CHECK(url.password == "p@:ss");
  for (const char* plain : {"https://host/a@b:c", "host", "://", "https://@host"})
    CHECK(http::credentials_in(plain).empty());
  CHECK(http::credentials_in("https://me@host").user == "me");
  CHECK(http::without_password("me, p@:ss, p%40%3Ass, Basic bWU6cEA6c3M=", url) ==
        "me, <PASSWORD>, <PASSWORD>, Basic <CREDENTIALS>");
  CHECK(http::without_password("as it is", {}) == "as it is");
}

TEST_CASE("an address that no time mends is the tracker's end at once", "[reporting]") {
  Environment environment;
  environment.set("MLFLOW_TRACKING_URI", "http://[bad");
  int pauses = 0;
  MlflowServer server(environment, {[](const std::string&) {}, [&](double) { return ++pauses < 3; }});
  CHECK_REFUSED(server.begin({}), "the server did not take experiments/get-by-name");
  CHECK(pauses == 0);
}

TEST_CASE("a folder of MLflow has a file for every metric and parameter", "[reporting]") {
  const TemporaryDirectory folder;
  std::vector<std::string> warnings;
  ReportedRun run = tracked_run();
  run.environment.set("MLFLOW_TAGS", R"({"who": "me"})");
  const std::string place = reported(folder / "mlruns", run, &warnings);
  CHECK(read_file(place + "/metrics/loss") ==
        "1700000001500 2.5 1\n1700000002500 inf 2\n1700000003500 2.0 3\n");
  CHECK(read_file(place + "/metrics/eval_f1_macro_") == "1700000001500 0.5 1\n");
  CHECK(read_file(place + "/metrics/flag") == "1700000001500 1.0 1\n");
  CHECK(read_file(place + "/params/learning_rate") == "5e-05");
  CHECK(read_file(place + "/params/use_cpu") == "True");
  CHECK(read_file(place + "/params/save_total_limit") == "None");
  CHECK(read_file(place + "/params/fsdp") == "[]");
  CHECK(read_file(place + "/params/odd_key") == "1");
  CHECK(read_file(place + "/params/inner") == "{'a': 1, 'b': 'x'}");
  CHECK(read_file(place + "/params/_.._up") == "1");  // a key of a model's file stays in the folder
  CHECK(read_file(place + "/tags/who") == "me");
  CHECK(read_file(place + "/tags/mlflow.runName") == run.name);
  CHECK(warnings == std::vector<std::string>{"the metric 'note' is no number and is left out"});
}

TEST_CASE("parameters of MLflow are taken apart, counted and measured as asked", "[reporting]") {
  const TemporaryDirectory folder;
  ReportedRun run = tracked_run();
  run.model_config["long"] = std::string(7000, 'x');
  run.environment.set("MLFLOW_FLATTEN_PARAMS", "TRUE");
  std::vector<std::string> warnings;
  const std::string flat = reported(folder / "flat", run, &warnings);
  CHECK(read_file(flat + "/params/inner.a") == "1");
  CHECK_FALSE(path_exists(flat + "/params/inner"));
  CHECK_FALSE(path_exists(flat + "/params/long"));
  CHECK_THAT(warnings.front(), Catch::Contains("left out: long"));
  run.environment.set("MLFLOW_MAX_LOG_PARAMS", "2");
  const std::filesystem::directory_iterator few(reported(folder / "few", run) + "/params"), none;
  CHECK(std::distance(few, none) == 2);
}

TEST_CASE("an experiment of MLflow is found by its name, and a run by its id", "[reporting]") {
  const TemporaryDirectory folder;
  ReportedRun run = tracked_run();
  run.environment.set("MLFLOW_EXPERIMENT_NAME", "an \"experiment\"");
  run.environment.set("MLFLOW_RUN_ID", "0123abcd");
  const std::string first = reported(folder / "r", run);
  run.arguments = R"({"learning_rate": 1.0})";
  run.environment.set("MLFLOW_EXPERIMENT_NAME", "another");
  CHECK(reported(folder / "r", run) == first);
  CHECK(read_file(first + "/params/learning_rate") == "5e-05");
  CHECK(read_file(first + "/metrics/flag") == "1700000001500 1.0 1\n1700000001500 1.0 1\n");
  run.environment.unset("MLFLOW_RUN_ID");
  run.environment.set("MLFLOW_EXPERIMENT_NAME", "an \"experiment\"");
  const std::string second = reported(folder / "r", run);
  CHECK(second != first);
  CHECK(std::filesystem::path(second).parent_path() == std::filesystem::path(first).parent_path());
}

TEST_CASE("a tracking URI names a folder or a server", "[reporting]") {
  CHECK(mlflow_folder_of("", "/o/mlruns") == "/o/mlruns");
  CHECK(mlflow_folder_of("runs/here", "/o") == "runs/here");
  CHECK(mlflow_folder_of("file:///a/b", "/o") == "/a/b");
  CHECK(mlflow_folder_of("file:/a/b", "/o") == "/a/b");
  CHECK(mlflow_folder_of("https://host/x", "/o").empty());
}

TEST_CASE("texts in addresses are escaped", "[reporting]") {
  CHECK(http::Client::escaped("a b/c&d-_.~\xc3\xa9") == "a%20b%2Fc%26d-_.~%C3%A9");
}

TEST_CASE("MLflow's client reads the folder", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with mlflow: set HFTRAIN_TEST_PYTHON");
  const testing::PythonResult package = testing::run_python("import mlflow.tracking\n", {});
  if (package.exit_code != 0) HFTRAIN_SKIP("the Python package mlflow, which scripts/setup does not install");
  const TemporaryDirectory folder;
  ReportedRun run = tracked_run();
  run.environment.set("MLFLOW_EXPERIMENT_NAME", "an experiment: x");
  reported(folder / "mlruns", run);
  const testing::PythonResult result = testing::run_python(R"(
import math, os, sys
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=sys.argv[1])
names = {e.name: e.experiment_id for e in client.search_experiments()}
assert set(names) == {"Default", "an experiment: x"}, names
(run,) = client.search_runs([names["an experiment: x"]])
assert (run.info.status, run.info.run_name, run.info.start_time, run.info.end_time) == ("FINISHED", 'a "name"', 1700000000250, 1700000003500), run.info
history = [(m.step, m.value, m.timestamp) for m in client.get_metric_history(run.info.run_id, "loss")]
assert history == [(1, 2.5, 1700000001500), (2, math.inf, 1700000002500), (3, 2.0, 1700000003500)], history
assert run.data.metrics["epoch"] == 0.75 and run.data.params["learning_rate"] == "5e-05" and run.data.params["n_layer"] == "2", run.data
print("read")
)",
                                                           {folder / "mlruns"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("read"));
}

}  // namespace hftrain::reporting
