#include "hftrain/storage/model_export.h"

#include <atomic>
#include <filesystem>
#include <fstream>

#include "fault_injecting_file_system.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/checkpoint_summary.h"
#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/sharded_state.h"
#include "plain_files.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::FaultInjectingFileSystem;
using testing::names_in;
using testing::TemporaryDirectory;

const std::vector<TensorEntry> kWeights = {
    {"a", DType::kF32, {2, 2}}, {"b", DType::kBF16, {3}}, {"c", DType::kU8, {6}}};

std::string filler_of(const TensorEntry& entry) {
  return std::string(entry.bytes(), entry.name[0]);
}

// checkpoint-7 with weights, tokenizer, optimizer of two ranks and run state.
std::string make_checkpoint(const std::string& output_dir) {
  PosixFileSystem files;
  CheckpointTransaction transaction(files, output_dir, 7);
  StagedFiles staged(files, transaction.directory());
  SafetensorsWriter model = staged.open_safetensors(kWeightsName, kWeights);
  for (const TensorEntry& entry : std::vector<TensorEntry>(model.entries()))
    model.write(entry.name, filler_of(entry));
  staged.close(model);
  for (const int rank : {0, 1}) {
    const TensorSlice slice{{"a.exp_avg", DType::kF32, {1, 2}}, {rank, 0}};
    SafetensorsWriter shard = staged.open_safetensors("optimizer/" + shard_file_name(rank), {slice.entry},
                                                      sharding_metadata({slice}));
    shard.write("a.exp_avg", "12345678");
    staged.close(shard);
  }
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                           "vocab.json", "merges.txt", "chat_template.jinja", "special_tokens_map.json",
                           "trainer_state.json", "hftrain_state.json", "optimizer.json"}) {
    staged.put(name, std::string("{\"") + name + "\": 1}");
  }
  staged.put("rng/rank-00000.json", "{}");
  staged.sync_names();
  Manifest manifest;
  manifest.world_size = 2;
  manifest.plan_hash = "feed";
  manifest.hftrain_version = "0.1.0";
  manifest.identity = {{"task", "clm"}, {"seed", 42}};
  manifest.files = staged.records();
  return transaction.commit(std::move(manifest));
}

TEST_CASE("an export is the plain model folder, sharded as asked", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  PosixFileSystem files;
  const std::vector<std::string> companions = {
      "chat_template.jinja",     "config.json",    "generation_config.json", "merges.txt",
      "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",  "vocab.json"};
  CHECK(model_companion_files(checkpoint) == companions);
  for (const int64_t limit : {1000, 16}) {
    const std::string target = folder / ("out-" + std::to_string(limit)) + "/";
    const ExportResult result = export_model(files, checkpoint, target, {.max_shard_bytes = limit});
    CHECK(result.tensors == 3);
    CHECK(result.bytes == 28);
    CHECK(result.files == companions.size() + (limit == 1000 ? 1 : 3));
    CHECK(names_in(target).size() == result.files);
    const ModelWeights weights(target);
    for (const TensorEntry& entry : kWeights) CHECK(weights.at(entry.name).bytes == filler_of(entry));
    for (const std::string& name : companions)
      CHECK(read_file(target + name) == read_file(checkpoint + '/' + name));
  }
  // Again, from a folder without a manifest and into an empty folder.
  std::filesystem::create_directory(folder / "again");
  export_model(files, folder / "out-16", folder / "again", {.max_shard_bytes = 1000});
  CHECK(read_file(folder / "again/model.safetensors") == read_file(checkpoint + "/model.safetensors"));
}

TEST_CASE("an export refuses a full target, a damaged source and a folder that is no model", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  PosixFileSystem files;
  const auto refusal = [&](const std::string& source, const std::string& target) {
    try {
      export_model(files, source, target, {.max_shard_bytes = 1000});
    } catch (const Error& error) {
      return error.code();
    }
    return ExitCode::kDone;
  };
  CHECK(refusal(checkpoint, folder.path()) == ExitCode::kUsage);
  CHECK(refusal(checkpoint, checkpoint + "/config.json") == ExitCode::kUsage);
  CHECK(refusal(folder.path(), folder / "out") == ExitCode::kData);
  CHECK(refusal(folder / "nowhere", folder / "out") == ExitCode::kData);

  std::ofstream(checkpoint + "/optimizer.json") << "damage that an export does not need to see";
  CHECK(refusal(checkpoint, folder / "first") == ExitCode::kDone);
  std::string bytes = read_file(checkpoint + "/model.safetensors");
  bytes.back() ^= 1;
  std::ofstream(checkpoint + "/model.safetensors", std::ios::binary) << bytes;
  CHECK(refusal(checkpoint, folder / "second") == ExitCode::kData);
  CHECK_FALSE(path_exists(folder / "second"));
}

TEST_CASE("an export refuses a config.json that is none, and copies that of a family that nobody knows",
          "[storage]") {
  const TemporaryDirectory folder;
  const std::string whole = make_checkpoint(folder.path());
  const std::string source =
      folder / "model";  // without a manifest, which would say that the file has changed
  PosixFileSystem files;
  export_model(files, whole, source, {.max_shard_bytes = 1000});
  const auto exported = [&](const std::string& config, const std::string& name) {
    write_file_atomically(source + "/config.json", config);
    export_model(files, source, folder / name, {.max_shard_bytes = 1000});
  };
  CHECK_REFUSED(exported(R"({"model_type": "gpt2",)", "torn"), "not valid JSON");
  CHECK_REFUSED(exported("[1]", "list"), "a model config must be a JSON object");
  CHECK_FALSE(path_exists(folder / "torn"));
  CHECK_NOTHROW(exported(R"({"model_type": "of tomorrow"})", "unknown"));
}

TEST_CASE("an export misses a file that the manifest names and nobody finds", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  std::filesystem::create_directories(folder / "model");
  std::ofstream(folder / "config.json") << "{}";
  std::ofstream(folder / "tokenizer.json") << "{}";
  for (int rank = 0; rank < 2; ++rank) {
    const TensorSlice slice{{"w", DType::kF32, {1, 1}}, {rank, 0}};
    write_safetensors(
        files, folder / ("model/" + shard_file_name(rank)), {slice.entry}, [](const auto&) { return "abcd"; },
        sharding_metadata({slice}));
  }
  const auto exported = [&](const std::string& name) {
    try {
      export_model(files, folder.path(), folder / name, {.max_shard_bytes = 1000});
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK_FALSE(path_exists(folder / name));
      return error.render();
    }
    return std::string();
  };
  CHECK_THAT(exported("unfinished"), Catch::Contains("has no manifest"));
  Manifest manifest;
  const std::vector<std::string> names = {"config.json", "model/" + shard_file_name(0),
                                          "model/" + shard_file_name(1), "tokenizer.json"};
  for (const std::string& name : names) {
    const std::string bytes = read_file(folder / name);
    manifest.files.push_back({name, bytes.size(), hash_bytes(bytes)});
  }
  std::ofstream(folder / "manifest.json") << render_manifest(manifest);
  CHECK(exported("whole").empty());
  std::filesystem::rename(folder / "tokenizer.json", folder / "away");
  CHECK_THAT(exported("without"), Catch::Contains("tokenizer.json") && Catch::Contains("is missing"));
  std::filesystem::rename(folder / "away", folder / "tokenizer.json");
  std::filesystem::remove(folder /
                          ("model/" + shard_file_name(1)));  // the other one alone is a tensor of one row
  CHECK_THAT(exported("half"), Catch::Contains(shard_file_name(1)) && Catch::Contains("is missing"));
}

TEST_CASE("a crafted shard cannot make an export write past its memory", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  std::filesystem::create_directories(folder / "model");
  std::ofstream(folder / "config.json") << "{}";
  // The row that it makes of one number needs 2^64 bytes: none, when nobody looks.
  const TensorSlice slice{{"w", DType::kF32, {1, 1}}, {0, (int64_t{1} << 62) - 1}};
  write_safetensors(
      files, folder / ("model/" + shard_file_name(0)), {slice.entry}, [](const auto&) { return "abcd"; },
      sharding_metadata({slice}));
  try {
    export_model(files, folder.path(), folder / "out", {.max_shard_bytes = 1000});
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Catch::Contains("too large"));
  }
  CHECK_FALSE(path_exists(folder / "out"));
}

TEST_CASE("an export that fails leaves nothing", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  FaultInjectingFileSystem counting;
  export_model(counting, checkpoint, folder / "whole", {.max_shard_bytes = 1000});
  for (int k = 0; k + 1 < counting.operations(); ++k) {
    FaultInjectingFileSystem files(FaultInjectingFileSystem::Trouble::kDiskFull, k);
    CHECK_REFUSED(export_model(files, checkpoint, folder / "out", {.max_shard_bytes = 1000}),
                  "No space left on device");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"checkpoint-7", "whole"});
  }
}

TEST_CASE("an export that is to stop leaves nothing, wherever it has come to", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  PosixFileSystem files;
  std::atomic<int> asked = 0;
  export_model(files, checkpoint, folder / "whole", {.max_shard_bytes = 16, .between = [&] { ++asked; }});
  const auto verified = static_cast<int>(model_companion_files(checkpoint).size()) + 1;
  REQUIRE(asked == verified + 3 + 1);  // before each tensor, and before the folder gets its name
  for (int k = 1; k <= asked; ++k) {
    std::atomic<int> left = k;
    const auto between = [&] {
      if (--left == 0) throw Error(ExitCode::kTerminated, "asked to stop");
    };
    CHECK_REFUSED(
        export_model(files, checkpoint, folder / "out", {.max_shard_bytes = 16, .between = between}),
        "asked to stop");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"checkpoint-7", "whole"});
  }
}

TEST_CASE("sizes of shards are decimal", "[storage]") {
  CHECK(parse_shard_size("5GB") == 5'000'000'000);
  CHECK(parse_shard_size(" 300 mb ") == 300'000'000);
  CHECK(parse_shard_size("1.5KB") == 1500);
  CHECK(parse_shard_size("1000") == 1000);
  for (const char* text : {"", "GB", "5GiB", "5G", "-5GB", "0", "0.1", "nan", "1e30TB", "5GB x"}) {
    INFO(text);
    CHECK_FALSE(parse_shard_size(text));
  }
}

TEST_CASE("a summary names step, plan, tensors and shards", "[storage]") {
  const TemporaryDirectory folder;
  const CheckpointSummary summary = summarize_checkpoint(make_checkpoint(folder.path()));
  REQUIRE(summary.weights.size() == 3);
  REQUIRE(summary.optimizer.size() == 1);
  CHECK(summary.optimizer[0].entry.shape == std::vector<int64_t>{2, 2});
  CHECK(summary.optimizer[0].files.size() == 2);

  const std::string text = render_summary(summary);
  CHECK_THAT(text, Catch::Contains("\nstep: 7\nworld size: 2\nplan: feed\nwritten by: hftrain 0.1.0\n"));
  CHECK_THAT(text, Catch::Contains("\nseed: 42\ntask: clm\n"));
  CHECK_THAT(text, Catch::Contains("\nweights: 3 tensors, 13 numbers, 28 B in 1 file\n"
                                   "  a  F32   [2,2]  model.safetensors\n"
                                   "  b  BF16  [3]    model.safetensors\n"));
  CHECK_THAT(text, Catch::Contains("\noptimizer: 1 tensors, 4 numbers, 16 B in 2 files\n"));

  const Json json = summary_to_json(summary);
  CHECK(json.at("schema") == 1);
  CHECK(json.at("step") == 7);
  CHECK(json.at("plan").at("hash") == "feed");
  CHECK(json.at("weights").at("tensors").at(1) ==
        Json{{"name", "b"}, {"dtype", "BF16"}, {"shape", {3}}, {"files", {"model.safetensors"}}});
  CHECK(json.at("optimizer").at("shards").size() == 2);
  CHECK(json.at("files").size() == 15);
  CHECK_FALSE(json.contains("missing"));
}

TEST_CASE("a summary says what of a checkpoint is gone", "[storage]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  const std::string shard = "optimizer/" + shard_file_name(1);
  std::filesystem::remove(checkpoint + '/' + shard);
  const CheckpointSummary summary = summarize_checkpoint(checkpoint);
  CHECK(summary.optimizer[0].entry.shape == std::vector<int64_t>{1, 2});
  CHECK_THAT(render_summary(summary), Catch::Contains("\nmissing: " + shard + ", so what"));
  CHECK(summary_to_json(summary).at("missing") == Json{shard});
}

TEST_CASE("a plain model folder is summarised, anything else refused", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  CHECK_REFUSED(summarize_checkpoint(folder.path()), "no model weights in the folder");
  write_safetensors(files, folder / kWeightsName, {{"a", DType::kU8, {1}}}, [](const auto&) { return "x"; });
  const CheckpointSummary summary = summarize_checkpoint(folder.path());
  CHECK_FALSE(summary.manifest);
  CHECK_THAT(render_summary(summary), Catch::Contains("without a manifest"));
  CHECK_FALSE(summary_to_json(summary).contains("step"));
}

TEST_CASE("an adapter is summarised, and merged in the place of exported", "[storage]") {
  const TemporaryDirectory folder;
  PosixFileSystem files;
  write_safetensors(files, folder / kAdapterName, {{"a.lora_A.weight", DType::kU8, {1}}},
                    [](const auto&) { return "x"; });
  const CheckpointSummary summary = summarize_checkpoint(folder.path());
  REQUIRE(summary.weights.size() == 1);
  CHECK(summary.weights[0].files == std::vector<std::string>{kAdapterName});
  for (const bool with_config : {false, true}) {
    if (with_config) std::ofstream(folder / "config.json") << "{}";
    CHECK_THROWS_WITH(export_model(files, folder.path(), folder / "out", {.max_shard_bytes = 1}),
                      Catch::Contains("holds an adapter and no model"));
  }
  write_safetensors(files, folder / kWeightsName, {{"b", DType::kU8, {1}}}, [](const auto&) { return "x"; });
  CHECK(summarize_checkpoint(folder.path()).weights[0].entry.name == "b");
}

}  // namespace
}  // namespace hftrain::storage
