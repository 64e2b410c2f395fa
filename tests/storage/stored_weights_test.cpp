#include "hftrain/storage/stored_weights.h"

#include <cstring>
#include <fstream>
#include <numeric>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/storage/checkpoint_summary.h"
#include "hftrain/storage/model_export.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::storage {
namespace {

using testing::TemporaryDirectory;

// "w" is 0, 1, 2, … over [rows, 3]; "b" has one dim.
std::vector<float> numbers(const Box& whole, const Box& box) {
  std::vector<float> values;
  const int64_t columns = whole.sizes.size() > 1 ? whole.sizes[1] : 1;
  const int64_t width = box.sizes.size() > 1 ? box.sizes[1] : 1;
  const int64_t first = box.offsets.size() > 1 ? box.offsets[1] : 0;
  for (int64_t row = 0; row < box.sizes[0]; ++row) {
    for (int64_t column = 0; column < width; ++column)
      values.push_back(static_cast<float>((box.offsets[0] + row) * columns + first + column));
  }
  return values;
}

std::string copy_of_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

const Box kW{{0, 0}, {5, 3}}, kB{{0}, {4}};

void write_whole(const std::string& folder) {
  PosixFileSystem files;
  write_safetensors(files, folder + '/' + kWeightsName,
                    {{"w", DType::kF32, kW.sizes}, {"b", DType::kF32, kB.sizes}},
                    [text = std::string()](const TensorEntry& entry) mutable {
                      const Box& whole = entry.name == "w" ? kW : kB;
                      return std::string_view(text = copy_of_bytes(numbers(whole, whole)));
                    });
}

// Rows of both over two ranks.
void write_slices(const std::string& folder) {
  PosixFileSystem files;
  create_directories(folder + '/' + kShardedModelFolder);
  for (const int rank : {0, 1}) {
    const Box w = rank == 0 ? Box{{0, 0}, {3, 3}} : Box{{3, 0}, {2, 3}};
    const Box b = rank == 0 ? Box{{0}, {2}} : Box{{2}, {2}};
    write_safetensors(
        files, folder + '/' + kShardedModelFolder + '/' + shard_file_name(rank),
        {{"w", DType::kF32, w.sizes}, {"b", DType::kF32, b.sizes}},
        [&, text = std::string()](const TensorEntry& entry) mutable {
          text = entry.name == "w" ? copy_of_bytes(numbers(kW, w)) : copy_of_bytes(numbers(kB, b));
          return std::string_view(text);
        },
        sharding_metadata(
            {{{"w", DType::kF32, w.sizes}, w.offsets}, {{"b", DType::kF32, b.sizes}, b.offsets}}));
  }
}

std::vector<float> read_weights(const StoredWeights& weights, const std::string& name, const Box& box) {
  std::vector<float> values(volume(box));
  weights.read(name, box, {reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)});
  return values;
}

TEST_CASE("both layouts of weights give the same tensors and boxes", "[storage]") {
  const TemporaryDirectory folder;
  const bool sharded = GENERATE(false, true);
  if (sharded) {
    write_slices(folder.path());
  } else {
    write_whole(folder.path());
  }
  const StoredWeights weights(folder.path());
  CHECK(weights.sharded() == sharded);
  REQUIRE(weights.entries().size() == 2);
  REQUIRE(weights.find("w") != nullptr);
  CHECK(weights.find("w")->shape == kW.sizes);
  CHECK(weights.find("v") == nullptr);
  const std::vector<Box> boxes = {kW, {{2, 0}, {2, 3}}, {{1, 1}, {4, 1}}, {{4, 0}, {0, 3}}};
  for (const Box& box : boxes) CHECK(read_weights(weights, "w", box) == numbers(kW, box));
  CHECK(read_weights(weights, "b", {{1}, {2}}) == std::vector<float>{1, 2});
  CHECK_REFUSED(read_weights(weights, "v", kB), "the weights have no tensor 'v'");
  CHECK_REFUSED(read_weights(weights, "b", {{3}, {2}}), "the shards hold 1 of the 2 numbers asked for");
  CHECK(weights.files_of("w").size() == (sharded ? 2 : 1));
  CHECK(weights.files() == weights.files_of("b"));
  CHECK(weights.files().front() == (sharded ? "model/" + shard_file_name(0) : "model.safetensors"));
}

TEST_CASE("a folder without weights, or with an empty one, is refused", "[storage]") {
  const TemporaryDirectory folder;
  CHECK_REFUSED(StoredWeights(folder.path()), "it has neither model.safetensors nor");
  create_directories(folder / kShardedModelFolder);
  CHECK_REFUSED(StoredWeights(folder.path()), "it holds no .safetensors file");
}

TEST_CASE("an export joins slices to the file that whole tensors make", "[storage]") {
  const TemporaryDirectory folder;
  for (const char* name : {"whole", "slices"}) {
    create_directories(folder / name);
    std::ofstream(folder / (std::string(name) + "/config.json")) << "{}";
  }
  write_whole(folder / "whole");
  write_slices(folder / "slices");
  std::ofstream(folder / "slices/manifest.json") << render_manifest({});
  PosixFileSystem files;
  const ExportResult result =
      export_model(files, folder / "slices", folder / "plain", {.max_shard_bytes = 1000});
  CHECK(result.tensors == 2);
  CHECK(result.bytes == (15 + 4) * sizeof(float));
  CHECK(read_file(folder / "plain/model.safetensors") == read_file(folder / "whole/model.safetensors"));
  CHECK_FALSE(path_exists(folder / "plain/model"));
}

TEST_CASE("a summary of sharded weights names the files of all slices", "[storage]") {
  const TemporaryDirectory folder;
  write_slices(folder.path());
  const CheckpointSummary summary = summarize_checkpoint(folder.path());
  REQUIRE(summary.weights.size() == 2);
  CHECK(summary.weights[1].entry.name == "w");
  CHECK(summary.weights[1].entry.shape == kW.sizes);
  CHECK(summary.weights[1].files ==
        std::vector<std::string>{"model/" + shard_file_name(0), "model/" + shard_file_name(1)});
}

TEST_CASE("row groups cover a box in order and never split a row", "[storage]") {
  const Box box{{2, 1}, {5, 3}};
  const std::vector<Box> groups = row_groups(box, 7);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0] == Box{{2, 1}, {2, 3}});
  CHECK(groups[2] == Box{{6, 1}, {1, 3}});
  CHECK(row_groups(box, 1).size() == 5);
  CHECK(row_groups(box, 100) == std::vector<Box>{box});
  CHECK(row_groups({{}, {}}, 1).size() == 1);
  CHECK(row_groups({{0, 0}, {0, 3}}, 1).empty());
}

TEST_CASE("a box larger than what is kept mapped is copied whole", "[storage]") {
  const TemporaryDirectory folder;
  std::vector<int32_t> values(5 << 20);
  std::iota(values.begin(), values.end(), 0);
  PosixFileSystem files;
  write_safetensors(
      files, folder / "model.safetensors", {{"t", DType::kI32, {5, 1 << 20}}}, [&](const TensorEntry&) {
        return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * 4);
      });
  const StoredWeights weights(folder.path());
  std::vector<int32_t> copy(3 << 20);
  weights.read("t", {{1, 0}, {3, 1 << 20}}, {reinterpret_cast<char*>(copy.data()), copy.size() * 4});
  CHECK(std::memcmp(copy.data(), values.data() + (1 << 20), copy.size() * 4) == 0);
}

}  // namespace
}  // namespace hftrain::storage
