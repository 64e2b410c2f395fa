#include "hftrain/storage/model_folder.h"

#include <filesystem>
#include <fstream>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/safetensors_writer.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

const std::vector<TensorEntry> kEntries = {
    {"wte", DType::kU8, {4}}, {"h.0", DType::kU8, {3}}, {"h.1", DType::kU8, {3}}};

void save_sharded(const std::string& folder, int64_t max_shard_bytes) {
  PosixFileSystem files;
  const ShardPlan plan = plan_shards(kEntries, max_shard_bytes);
  for (const ShardPlan::Shard& shard : plan.shards) {
    write_safetensors(files, folder + '/' + shard.file, shard.entries, [](const TensorEntry& entry) {
      return std::string_view("abcd").substr(0, entry.bytes());
    });
  }
  if (!plan.index.empty()) std::ofstream(folder + '/' + kWeightsIndexName) << plan.index;
}

Error refusal(const std::string& folder) {
  try {
    ModelWeights weights(folder);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error;
  }
  return Error(ExitCode::kDone, "accepted");
}

TEST_CASE("one file or several shards read the same", "[storage]") {
  for (const int64_t limit : {100, 6, 4, 1}) {
    const TemporaryDirectory folder;
    save_sharded(folder.path(), limit);
    const ModelWeights weights(folder.path());
    CHECK(has_model_weights(folder.path()));
    CHECK(weights.names() == std::vector<std::string>{"h.0", "h.1", "wte"});
    CHECK(weights.at("wte").bytes == "abcd");
    CHECK(weights.find("h.2") == nullptr);
    CHECK(weights.shard_of("wte") == (limit == 100 ? "model.safetensors"
                                      : limit == 1 ? "model-00001-of-00003.safetensors"
                                      : limit == 6 ? "model-00001-of-00002.safetensors"
                                                   : "model-00001-of-00003.safetensors"));
  }
}

TEST_CASE("a missing tensor names its neighbours", "[storage]") {
  const TemporaryDirectory folder;
  save_sharded(folder.path(), 100);
  try {
    ModelWeights(folder.path()).at("h.00");
    FAIL("found");
  } catch (const Error& error) {
    CHECK_THAT(error.diagnostics().front().what, Catch::Contains("h.00"));
    CHECK_THAT(error.diagnostics().front().why, Catch::Contains("h.0"));
  }
}

TEST_CASE("broken folders are refused by name", "[storage]") {
  const TemporaryDirectory folder;
  CHECK_THAT(refusal(folder / "nowhere").diagnostics().front().why, Catch::Contains("does not exist"));
  CHECK_THAT(refusal(folder.path()).diagnostics().front().why, Catch::Contains("neither"));

  std::ofstream(folder / "pytorch_model.bin") << "pickle";
  CHECK_THAT(refusal(folder.path()).diagnostics().front().hint, Catch::Contains("save_pretrained"));

  save_sharded(folder.path(), 4);
  const std::string shard = folder / "model-00002-of-00003.safetensors";
  const std::string bytes = read_file(shard);
  std::ofstream(shard) << bytes.substr(0, bytes.size() - 1);
  CHECK(refusal(folder.path()).diagnostics().front().where == shard);
  std::filesystem::copy_file(folder / "model-00001-of-00003.safetensors", shard,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(refusal(folder.path()).diagnostics().front().what, Catch::Contains("missing from its shard"));
  std::filesystem::remove(shard);
  CHECK_THAT(refusal(folder.path()).diagnostics().front().what, Catch::Contains("shard"));

  for (const char* index : {"{}", "[]", "{\"weight_map\": {}}", "{\"weight_map\": {\"a\": 1}}",
                            "{\"weight_map\": {\"a\": \"../other/model.safetensors\"}}", "{"}) {
    std::ofstream(folder / kWeightsIndexName) << index;
    CHECK(refusal(folder.path()).code() == ExitCode::kData);
  }
}

TEST_CASE("shards and index are those of transformers", "[storage]") {
  const Json golden = read_json_file(testing::source_dir() + "/tests/golden/storage/shards.json");
  std::vector<TensorEntry> entries;
  for (const Json& item : golden.at("entries")) {
    entries.push_back(
        {item[0], *dtype_from_name(item[1].get<std::string>()), item[2].get<std::vector<int64_t>>()});
  }
  const ShardPlan plan = plan_shards(entries, golden.at("max_shard_bytes"));
  CHECK(plan.shards.size() > 3);
  CHECK(plan.index == golden.at("index").get<std::string>());
}

TEST_CASE("a plan without tensors is one empty file", "[storage]") {
  const ShardPlan plan = plan_shards({}, 100);
  REQUIRE(plan.shards.size() == 1);
  CHECK(plan.shards.front().file == "model.safetensors");
  CHECK(plan.index.empty());
}

}  // namespace
}  // namespace hftrain::storage
