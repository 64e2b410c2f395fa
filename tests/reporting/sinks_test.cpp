#include <cmath>
#include <fstream>
#include <limits>
#include <tuple>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/reporting/csv_sink.h"
#include "hftrain/reporting/jsonl_sink.h"
#include "hftrain/reporting/metric_tag.h"
#include "hftrain/reporting/prometheus_sink.h"
#include "hftrain/reporting/reporters.h"
#include "hftrain/reporting/tensorboard_sink.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::reporting {
namespace {

using testing::TemporaryDirectory;

LogRecord at_step(int64_t step, Json metrics) {
  return {step, static_cast<double>(step) / 4, 1700000000.5 + static_cast<double>(step), std::move(metrics)};
}

TEST_CASE("jsonl: one object per line, unrounded, appended on resume", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "hftrain/log.jsonl";
  {
    JsonlSink sink(path);
    sink.record(at_step(1, {{"loss", 2.345678901234567}, {"learning_rate", 5e-05}}));
    sink.record(at_step(2, {{"loss", std::nan("")}}));
  }
  CHECK(read_file(path) ==
        "{\"step\": 1, \"epoch\": 0.25, \"time\": 1700000001.5, \"learning_rate\": 5e-05, \"loss\": "
        "2.345678901234567}\n"
        "{\"step\": 2, \"epoch\": 0.5, \"time\": 1700000002.5, \"loss\": NaN}\n");
  JsonlSink(path).record(at_step(2, {{"loss", 2.0}}));
  CHECK(split(read_file(path), '\n').size() == 4);
}

TEST_CASE("jsonl: a record torn by a kill or a full disk goes, however long it is", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.jsonl";
  const auto logged_behind = [&](const std::string& before) {
    std::ofstream(path) << before;
    JsonlSink(path).record(at_step(3, Json::object()));
    const std::string text = read_file(path);
    const size_t last = text.rfind('\n', text.size() - 2) + 1;
    CHECK(Json::parse(text.substr(last)).at("step") == 3);
    return text.substr(0, last);
  };
  for (const std::string before : {"", "{\"step\": 1}\n"}) {
    CHECK(logged_behind(before + "{\"st") == before);
    CHECK(logged_behind(before + "{\"step\": 2, \"loss\": 4.8") == before);
    CHECK(logged_behind(before + "{\"step\": 2, \"note\": \"" + std::string(9000, 'a')) == before);
    // Whole but for its newline, and what is none of ours.
    CHECK(logged_behind(before + "{\"step\": 2}") == before + "{\"step\": 2}\n");
    CHECK(logged_behind(before + "my notes") == before + "my notes\n");
  }
}

TEST_CASE("csv: the header grows with new metrics and older rows stay aligned", "[reporting]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.csv";
  {
    CsvSink sink(path);
    sink.record(at_step(1, {{"loss", 2.5}, {"note", "a \"b\",\nc"}}));
    sink.record(at_step(2, {{"loss", 2.25}, {"eval_loss", 3.0}}));
  }
  CsvSink(path).record(at_step(4, {{"eval_loss", 1e-05}, {"odd,name", true}}));
  CHECK(read_file(path) ==
        "step,epoch,time,loss,note,eval_loss,\"odd,name\"\n"
        "1,0.25,1700000001.5,2.5,\"a \"\"b\"\",\nc\",,\n"
        "2,0.5,1700000002.5,2.25,,3.0,\n"
        "4,1.0,1700000004.5,,,1e-05,True\n");
}

TEST_CASE("csv: a foreign file is refused and left alone", "[reporting]") {
  const TemporaryDirectory folder;
  std::ofstream(folder / "log.csv") << "a,b\n1,2\n";
  CHECK_REFUSED(CsvSink(folder / "log.csv"), "not a table of logged records");
  CHECK(read_file(folder / "log.csv") == "a,b\n1,2\n");
}

TEST_CASE("checksums are masked CRC-32C", "[reporting]") {
  const uint32_t check = 0xe3069283;  // published for these nine digits
  CHECK(masked_crc32c("123456789") == ((check >> 15) | (check << 17)) + 0xa282ead8U);
}

TEST_CASE("metric names become the tags of the Trainer", "[reporting]") {
  CHECK(metric_tag("loss") == "train/loss");
  CHECK(metric_tag("eval_loss") == "eval/loss");
  CHECK(metric_tag("test_f1") == "test/f1");
  CHECK(metric_tag("train_runtime") == "train/train_runtime");
  CHECK(metric_tag("evaluation") == "train/evaluation");
}

TEST_CASE("prometheus: one file of gauges, whole at any time", "[reporting]") {
  const TemporaryDirectory folder;
  ReportedRun run;
  run.output_dir = folder / "a \"run\"";
  PrometheusSink sink(folder / "hftrain/metrics.prom", run);
  const std::string label = "{run=\"a \\\"run\\\"\"}";
  CHECK(read_file(folder / "hftrain/metrics.prom") ==
        "# TYPE hftrain_running gauge\nhftrain_running" + label + " 1.0\n");
  sink.record(at_step(1, {{"loss", 2.5}, {"note", "text"}, {"eval_f1.macro", std::nan("")}}));
  sink.record(at_step(2, {{"loss", 2.25}}));
  sink.flush();
  sink.end(RunEnd::kFinished);
  std::string text;
  const std::pair<const char*, const char*> kGauges[] = {
      {"epoch", "0.5"}, {"eval_f1_macro", "NaN"}, {"last_record_seconds", "1700000002.5"},
      {"loss", "2.25"}, {"running", "0.0"},       {"step", "2.0"}};
  for (const auto& [name, value] : kGauges)
    text += "# TYPE hftrain_" + std::string(name) + " gauge\nhftrain_" + name + label + ' ' + value + '\n';
  CHECK(read_file(folder / "hftrain/metrics.prom") == text);
}

TEST_CASE("every tracker has a row, and what has none is a fault of ours", "[reporting]") {
  for (const char* word : {"tensorboard", "wandb", "mlflow", "trackio", "csv", "prometheus"})
    CHECK(reporter(word).word == word);
  CHECK_REFUSED(reporter("jsonl"), "no reporter for the tracker 'jsonl'");
}

TEST_CASE("a resumed run gets an event file of its own", "[reporting]") {
  const TemporaryDirectory folder;
  const TensorBoardSink first(folder / "runs/a", 1700000000.5, {});
  const TensorBoardSink second(folder / "runs/a", 1700000000.5, {});
  CHECK(first.path() != second.path());
  CHECK_THAT(first.path(), Catch::Contains("/runs/a/events.out.tfevents.1700000000."));
}

TEST_CASE("what is neither number nor text is left out with one warning", "[reporting]") {
  const TemporaryDirectory folder;
  std::vector<std::string> warnings;
  TensorBoardSink sink(folder.path(), 1, [&](const std::string& text) { warnings.push_back(text); });
  sink.record(at_step(1, {{"matrix", {1, 2}}}));
  sink.record(at_step(2, {{"matrix", {1, 2}}}));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Contains("matrix"));
}

TEST_CASE("TensorBoard reads the event file", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with tensorboard: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  TensorBoardSink sink(folder.path(), 1700000000, {});
  sink.text("args", "{\"seed\": 42}", 1700000000);
  for (const int64_t step : {1, 200, 100000}) {
    sink.record(at_step(step, {{"loss", 0.5 * static_cast<double>(step)},
                               {"eval_loss", 2},
                               {"flag", true},
                               {"note", "gr\u00fc\u00df"},
                               {"bad", std::numeric_limits<double>::quiet_NaN()}}));
  }
  const testing::PythonResult result = testing::run_python(R"(
import math, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
tags = events.Tags()
assert sorted(tags["scalars"]) == ["eval/loss", "train/bad", "train/epoch", "train/flag", "train/loss"], tags
loss = events.Scalars("train/loss")
assert [(e.step, e.value) for e in loss] == [(1, 0.5), (200, 100.0), (100000, 50000.0)], loss
assert loss[0].wall_time == 1700000001.5
assert events.Scalars("train/epoch")[0].value == 0.25
assert math.isnan(events.Scalars("train/bad")[0].value)
assert sorted(tags["tensors"]) == ["args/text_summary", "train/note/text_summary"], tags
assert events.Tensors("args/text_summary")[0].tensor_proto.string_val == [b'{"seed": 42}']
assert events.SummaryMetadata("args/text_summary").plugin_data.plugin_name == "text"
print("read")
)",
                                                           {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("read"));
}

// Two runs in one folder: with the arguments of each, the second one did not come to its end.
void write_sessions(const std::string& folder) {
  ReportedRun run;
  run.started = 1700000000;
  for (const auto& [name, rate, loss] : {std::tuple{"a", 0.001, 2.5}, std::tuple{"b", 0.01, 2.25}}) {
    run.tensorboard_dir = folder + '/' + name;
    run.arguments = dump_json({{"learning_rate", rate},
                               {"seed", 42},
                               {"bf16", true},
                               {"hub_token", "<HUB_TOKEN>"},
                               {"fsdp", {"full_shard", nullptr}},
                               {"max_grad_norm", std::numeric_limits<double>::infinity()},
                               {"run_name", nullptr}},
                              -1);
    const auto sink = reporter("tensorboard").begin(run, {});
    sink->record(at_step(7, {{"loss", loss}}));
    sink->end(loss > 2.3 ? RunEnd::kFinished : RunEnd::kStopped);
  }
}

TEST_CASE("TensorBoard's HPARAMS have the arguments and scalars of every run", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with tensorboard: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  write_sessions(folder.path());
  const testing::PythonResult result = testing::run_python(R"(
import sys
from google.protobuf import json_format
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
runs = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(sys.argv[1]); runs.Reload()
provider = data_provider.MultiplexerDataProvider(runs, sys.argv[1])
plugin = backend_context.Context(base_plugin.TBContext(data_provider=provider))
ask = lambda handler, request: handler.Handler(context.RequestContext(), plugin, "", request).run()
board = ask(get_experiment, api_pb2.GetExperimentRequest())
json_format.MessageToJson(board)
assert [each.name for each in board.hparam_infos if each.differs] == ["learning_rate"], board
kinds = {each.name: api_pb2.DataType.Name(each.type)[len("DATA_TYPE_"):] for each in board.hparam_infos}
assert kinds == {"learning_rate": "FLOAT64", "seed": "FLOAT64", "bf16": "BOOL", "hub_token": "STRING", "fsdp": "STRING",
                 "max_grad_norm": "STRING", "run_name": "STRING"}, kinds
assert [each.name.tag for each in board.metric_infos] == ["train/epoch", "train/loss"], board
every = [api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE, api_pb2.STATUS_RUNNING]
groups = ask(list_session_groups, api_pb2.ListSessionGroupsRequest(allowed_statuses=every, slice_size=9)).session_groups
rows = [{**json_format.MessageToDict(group)["hparams"], "name": group.name,
         **{each.name.tag: (each.training_step, each.value) for each in group.metric_values}} for group in groups]
same = {"seed": 42, "bf16": True, "hub_token": "<HUB_TOKEN>", "fsdp": "['full_shard', None]", "max_grad_norm": "inf",
        "run_name": "None", "train/epoch": (7, 1.75)}
assert rows == [{"name": "a", "learning_rate": 0.001, "train/loss": (7, 2.5), **same},
                {"name": "b", "learning_rate": 0.01, "train/loss": (7, 2.25), **same}], rows
sessions = [session for group in groups for session in group.sessions]
assert [each.status for each in sessions] == [api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE], sessions
assert {(each.start_time_secs, each.end_time_secs) for each in sessions} == {(1700000000, 1700000007.5)}, sessions
print("compared")
)",
                                                           {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("compared"));
}

}  // namespace
}  // namespace hftrain::reporting
