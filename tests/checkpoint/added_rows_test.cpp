// New rows of embeddings, against transformers (scripts/golden/added_rows.py).
#include "hftrain/checkpoint/added_rows.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/row_strategy.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/checkpoint/tensor_bytes.h"
#include "hftrain/checkpoint/weights.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/storage/model_folder.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using architectures::ParameterTable;
using testing::RowStrategy;
using testing::TemporaryDirectory;
using testing::WholeTensor;
using Named = std::vector<std::pair<std::string, at::Tensor>>;

const Json& golden_rows() {
  static const Json document =
      read_json_file(testing::source_dir() + "/tests/golden/checkpoint/added_rows.json");
  return document;
}

// As by_rule of the script.
at::Tensor by_rule(int64_t rows, int64_t width, int64_t shift, bool flat) {
  at::Tensor values = at::empty({rows, width}, at::kFloat);
  auto numbers = values.accessor<float, 2>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const double value = static_cast<double>((i * 37 + j * 11 + i * j + shift) % 29) / 29 - 0.4;
      numbers[i][j] = flat && j == 0 ? 0.0f : static_cast<float>(value);
    }
  }
  return values;
}

at::Tensor tensor_of(const Json& rows) {
  auto numbers = rows.get<std::vector<std::vector<float>>>();
  at::Tensor values = at::empty(
      {static_cast<int64_t>(numbers.size()), static_cast<int64_t>(numbers.front().size())}, at::kFloat);
  for (size_t i = 0; i < numbers.size(); ++i)
    values[static_cast<int64_t>(i)].copy_(at::from_blob(numbers[i].data(), {values.size(1)}, at::kFloat));
  return values;
}

void write_tensors(const std::string& folder, const Named& tensors) {
  storage::PosixFileSystem files;
  std::vector<storage::TensorEntry> entries;
  for (const auto& [name, tensor] : tensors)
    entries.push_back({name, dtype_of(tensor.scalar_type()), tensor.sizes().vec()});
  storage::write_safetensors(
      files, folder + '/' + storage::kWeightsName, entries, [&](const storage::TensorEntry& entry) {
        const auto found = std::find_if(tensors.begin(), tensors.end(),
                                        [&](const auto& tensor) { return tensor.first == entry.name; });
        return bytes_of(found->second);
      });
}

struct GrowthCase {
  TemporaryDirectory folder;
  ParameterTable table;
  OpeningRules rules;
  std::vector<WholeTensor> expected;

  void add(const std::string& name, const at::Tensor& whole, std::vector<int64_t> shape_before,
           plan::GrowthKind kind) {
    architectures::ParameterSpec spec;
    spec.name = name;
    spec.shape = whole.sizes().vec();
    spec.embedding = name == "embed.weight";
    table.parameters.push_back(spec);
    rules.grown.push_back({name, std::move(shape_before), kind});
    expected.push_back({name, "", whole});
  }
  // What rank `rank` of `world` loads, rows of each parameter one after another.
  std::vector<at::Tensor> loaded(int rank, int world) {
    RowStrategy strategy(rank, world, expected);
    strategy.forget();
    rules.generator = at::detail::createCPUGenerator(golden_rows()["seed"].get<uint64_t>());
    load_weights(table, storage::StoredWeights(folder.path()), strategy, {}, rules);
    std::vector<at::Tensor> rows;
    strategy.visit_parameters([&](const parallel::StatePart& part) { rows.push_back(part.tensor.clone()); },
                              parallel::Access::kRead);
    return rows;
  }
};

// What a refusal says in all its parts.
template <typename Call>
std::string said_by(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.render();
  }
  return "";
}

TEST_CASE("new tokens get the rows that transformers draws for the same generator, on any number of ranks") {
  const int64_t width = golden_rows()["width"];
  for (const Json& entry : golden_rows()["cases"]) {
    INFO(entry.dump());
    const int64_t before = entry["before"];
    GrowthCase run;
    Named stored = {{"embed.weight", by_rule(before, width, 0, entry["flat"])}};
    if (entry.contains("head")) stored.emplace_back("head.weight", by_rule(before, width, 5, entry["flat"]));
    write_tensors(run.folder.path(), stored);
    for (const auto& [name, tensor] : stored) {
      const Json& added = entry[name == "embed.weight" ? "embedding" : "head"];
      run.add(name, at::cat({tensor, tensor_of(added)}), tensor.sizes().vec(), plan::GrowthKind::kTokens);
    }
    for (const int world : {1, 2, 3}) {
      std::vector<at::Tensor> whole = run.loaded(0, world);
      for (int rank = 1; rank < world; ++rank) {
        const std::vector<at::Tensor> part = run.loaded(rank, world);
        for (size_t i = 0; i < part.size(); ++i) whole[i] = at::cat({whole[i], part[i]});
      }
      for (size_t i = 0; i < whole.size(); ++i) {
        const at::Tensor& wanted = run.expected[i].tensor;
        CHECK(whole[i].narrow(0, 0, before).equal(wanted.narrow(0, 0, before)));
        // Far below the spread of the new rows, about 1e-5.
        CHECK(at::allclose(whole[i], wanted, 0, 1e-7));
      }
    }
  }
}

TEST_CASE("the bias of a grown head and new positions begin as their kinds say") {
  const auto before = at::arange(4, at::kFloat);
  GrowthCase run;
  write_tensors(
      run.folder.path(),
      {{"zeros", before}, {"mean", before}, {"positions", at::ones({4, 2})}, {"sines", at::ones({4, 2})}});
  run.add("zeros", at::cat({before, at::zeros({2})}), {4}, plan::GrowthKind::kZeros);
  run.add("mean", at::cat({before, at::full({2}, 1.5)}), {4}, plan::GrowthKind::kMean);
  run.add("positions", at::ones({400, 2}), {4, 2}, plan::GrowthKind::kPositions);
  run.add("sines", at::ones({6, 2}), {4, 2}, plan::GrowthKind::kPositions);
  run.table.parameters.back().init.kind = architectures::InitKind::kSinusoids;
  const std::vector<at::Tensor> loaded = run.loaded(0, 1);
  CHECK(loaded[0].equal(run.expected[0].tensor));
  CHECK(loaded[1].equal(run.expected[1].tensor));
  CHECK(loaded[2].narrow(0, 0, 4).equal(at::ones({4, 2})));
  const double spread = loaded[2].narrow(0, 4, 396).std().item<double>();
  CHECK((spread > 0.015 && spread < 0.025));  // the config's 0.02
  CHECK(loaded[3].narrow(0, 0, 4).equal(at::ones({4, 2})));
  CHECK(loaded[3][5][0].item<double>() == Approx(std::sin(5.0)));
  CHECK(loaded[3][4][1].item<double>() == Approx(std::cos(4.0)));
}

TEST_CASE("numbers of tokens in one row grow to the right, on any number of ranks") {
  const auto before = at::arange(1, 5, at::kFloat).unsqueeze(0);
  GrowthCase run;
  write_tensors(run.folder.path(), {{"bias", before}});
  run.add("bias", at::cat({before, at::zeros({1, 3})}, 1), {1, 4}, plan::GrowthKind::kZeros);
  for (const int world : {1, 2}) {
    std::vector<at::Tensor> rows;
    for (int rank = 0; rank < world; ++rank) rows.push_back(run.loaded(rank, world).at(0));
    CHECK(at::cat(rows).equal(run.expected[0].tensor));
  }
  CHECK(plan::differing_dim({1, 4}, {1, 7}) == std::optional<size_t>(1));
  CHECK_FALSE(plan::differing_dim({1, 4}, {2, 7}));
  CHECK_FALSE(plan::differing_dim({4}, {4}));
}

TEST_CASE("a tensor with another number of rows than the plan counted is still refused") {
  GrowthCase run;
  write_tensors(run.folder.path(), {{"embed.weight", at::ones({5, 2})}});
  run.add("embed.weight", at::ones({8, 2}), {4, 2}, plan::GrowthKind::kTokens);
  CHECK_THAT(said_by([&] { run.loaded(0, 1); }), Catch::Contains("asks for [4, 2], the file holds [5, 2]"));
}

TEST_CASE("weights of another shape stay as they were where that is asked for, and are named") {
  GrowthCase run;
  write_tensors(run.folder.path(), {{"kept", at::ones({2, 2})}, {"head.weight", at::ones({3, 2})}});
  run.add("kept", at::ones({2, 2}), {2, 2}, plan::GrowthKind::kTokens);
  run.add("head.weight", at::ones({5, 2}), {5, 2}, plan::GrowthKind::kTokens);
  run.rules.grown.clear();
  RowStrategy strategy(0, 1, run.expected);
  strategy.forget();
  const storage::StoredWeights weights(run.folder.path());
  run.rules.told = true;
  CHECK_THAT(said_by([&] { load_weights(run.table, weights, strategy, {}, run.rules); }),
             Catch::Contains("the file holds [3, 2]") && Catch::Contains("--ignore_mismatched_sizes"));
  run.rules.ignore_mismatched_sizes = true;
  const LoadedWeights loaded = load_weights(run.table, weights, strategy, {}, run.rules);
  REQUIRE(loaded.mismatched.size() == 1);
  CHECK(loaded.mismatched[0].name == "head.weight");
  CHECK(plan::shape_text(loaded.mismatched[0].stored) == "[3, 2]");
  CHECK(plan::shape_text(loaded.mismatched[0].wanted) == "[5, 2]");
  CHECK(loaded.missing.empty());
  CHECK(loaded.unused.empty());
  strategy.visit_parameters(
      [](const parallel::StatePart& part) {
        CHECK(part.tensor.eq(part.parameter == "kept" ? 1 : -1).all().item<bool>());
      },
      parallel::Access::kRead);
}

}  // namespace
}  // namespace hftrain::checkpoint
