#include "hftrain/reporting/wandb_sink.h"

#include <cmath>

#include "hftrain/base/file.h"
#include "hftrain/reporting/wandb_log.h"
#include "support/catch.h"
#include "support/python.h"
#include "support/refusal.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::reporting {
namespace {

using testing::TemporaryDirectory;

// Prints the records of a file as lines of hexadecimal digits, by the rules of LevelDB's log format.
constexpr const char* kReadLog = R"(
import struct, sys, zlib
def records(path):
    data = open(path, "rb").read()
    assert data[:7] == struct.pack("<4sHB", b":W&B", 0xBEE1, 0), data[:7]
    at, whole = 7, None
    while at < len(data):
        room = 32768 - at % 32768
        if room < 7:
            assert data[at:at + room] == bytes(room)
            at += room
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        content = data[at + 7:at + 7 + length]
        assert len(content) == length and length <= room - 7
        assert zlib.crc32(content, zlib.crc32(bytes([kind]))) == checksum
        assert (whole is None) == (kind in (1, 2)), kind
        whole = (whole or b"") + content
        if kind in (1, 4):
            yield whole
            whole = None
        at += 7 + length
    assert whole is None
)";

ReportedRun run_in(const std::string& folder) {
  ReportedRun run;
  run.output_dir = folder;
  run.hftrain_version = "1.0";
  run.started = 1700000000.25;
  run.arguments = R"({"learning_rate": 5e-05, "hub_token": "<HUB_TOKEN>", "model_type": "x"})";
  run.model_config = {{"n_layer", 2}, {"model_type", "of the model"}};
  run.parameters = 1234;
  run.environment.set("WANDB_DIR", folder);
  run.environment.set("WANDB_RUN_ID", "abc");
  run.environment.set("WANDB_API_KEY", "verysecret");
  run.environment.set("WANDB_TAGS", "one, two");
  run.environment.set("WANDB_RUN_GROUP", "g");
  run.environment.set("WANDB_NAME", "by variable");
  run.environment.set("WANDB_NOTES", "n");
  return run;
}

}  // namespace

TEST_CASE("records of every length are read back from the log of wandb", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3: set HFTRAIN_TEST_PYTHON");
  const TemporaryDirectory folder;
  {
    WandbLog log(folder / "a.wandb");
    for (int length = 0; length < 400; ++length) log.append(std::string(static_cast<size_t>(length), 'a'));
    // Around a block of 32 KiB and its header of 7 bytes, and over several of them.
    for (int length = 32740; length < 32790; ++length)
      log.append(std::string(static_cast<size_t>(length), 'b'));
    log.append(std::string(100'000, 'c'));
    log.append("the end");
  }
  const std::string script = std::string(kReadLog) + R"(
found = [(len(r), r[:1]) for r in records(sys.argv[1])]
wanted = [(n, b"a" if n else b"") for n in range(400)] + [(n, b"b") for n in range(32740, 32790)] + [(100000, b"c"), (7, b"t")]
assert found == wanted, found
print("read")
)";
  const testing::PythonResult result = testing::run_python(script, {folder / "a.wandb"});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("read"));
}

TEST_CASE("a log of wandb is never written over", "[reporting]") {
  const TemporaryDirectory folder;
  const WandbLog log(folder / "a.wandb");
  CHECK_REFUSED(WandbLog(folder / "a.wandb"), "File exists");
}

TEST_CASE("an offline run has its folder, and ids are drawn", "[reporting]") {
  const TemporaryDirectory folder;
  ReportedRun run = run_in(folder.path());
  const WandbSink named(run);
  CHECK_THAT(named.folder(), Catch::StartsWith(folder.path() + "/wandb/offline-run-2023111"));
  CHECK_THAT(named.folder(), Catch::EndsWith("-abc"));
  CHECK(path_exists(named.folder() + "/run-abc.wandb"));
  CHECK(path_exists(named.folder() + "/files"));
  run.environment.unset("WANDB_RUN_ID");
  const WandbSink first(run), second(run);
  CHECK(first.folder() != second.folder());
}

TEST_CASE("the wandb package reads an offline run", "[reporting][parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with wandb: set HFTRAIN_TEST_PYTHON");
  const testing::PythonResult package = testing::run_python("import wandb.proto.wandb_internal_pb2\n", {});
  if (package.exit_code != 0) HFTRAIN_SKIP("the Python package wandb, which scripts/setup does not install");
  const TemporaryDirectory folder;
  {
    WandbSink sink(run_in(folder.path()));
    sink.record({1, 0.25, 1700000001.5, {{"loss", 2.5}, {"learning_rate", 5e-05}}});
    sink.record({2, 0.5, 1700000002.5, {{"eval_loss", std::nan("")}, {"note", "text"}}});
    sink.record({2, 0.5, 1700000003.5, {{"train_runtime", 1.5}, {"total_flos", 3}}});
    sink.end(RunEnd::kFailed);
  }
  const std::string script = std::string(kReadLog) + R"(
import glob, json
from wandb.proto.wandb_internal_pb2 import Record
(path,) = glob.glob(sys.argv[1] + "/wandb/*/run-abc.wandb")
assert b"verysecret" not in open(path, "rb").read()
found = []
for raw in records(path):
    record = Record()
    assert record.ParseFromString(raw) == len(raw)
    assert record.SerializeToString() == raw, "unknown fields"
    found.append(record)
assert [r.num for r in found] == list(range(1, len(found) + 1))
kinds = [r.WhichOneof("record_type") for r in found]
assert kinds == ["header", "run", "config", "metric", "metric"] + ["summary", "history"] * 3 + ["exit"], kinds
run = found[1].run
assert (run.run_id, run.project, run.run_group, run.display_name, run.notes) == ("abc", "huggingface", "g", "by variable", "n"), run
assert list(run.tags) == ["one", "two"] and run.start_time.ToNanoseconds() == 1700000000250000000, run
config = {u.key: json.loads(u.value_json) for u in found[2].config.update}
assert config == {"learning_rate": 5e-05, "hub_token": "<HUB_TOKEN>", "model_type": "x", "n_layer": 2, "model/num_parameters": 1234}, config
assert found[4].metric.glob_name == "*" and found[4].metric.step_metric == "train/global_step" and found[4].metric.options.step_sync
points = [{i.nested_key[0]: json.loads(i.value_json) for i in r.history.item} for r in found if r.HasField("history")]
assert points[0] == {"train/loss": 2.5, "train/learning_rate": 5e-05, "train/epoch": 0.25, "train/global_step": 1,
                     "_timestamp": 1700000001.5, "_runtime": 1.25, "_step": 0}, points[0]
assert points[1]["eval/loss"] != points[1]["eval/loss"] and points[1]["train/note"] == "text" and points[1]["_step"] == 1
assert set(points[2]) == {"train/epoch", "train/global_step", "_timestamp", "_runtime", "_step"}, points[2]
whole = {u.key: json.loads(u.value_json) for u in found[9].summary.update if u.key}
assert whole == {"train_runtime": 1.5, "total_flos": 3}, whole
assert (found[-1].exit.exit_code, found[-1].exit.runtime) == (1, 3)
print("read")
)";
  const testing::PythonResult result = testing::run_python(script, {folder.path()});
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output, Catch::Contains("read"));
}

}  // namespace hftrain::reporting
