#include "hftrain/checkpoint/weights.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include "checkpoint/row_strategy.h"
#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/file.h"
#include "hftrain/checkpoint/tensor_bytes.h"
#include "hftrain/storage/model_folder.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using architectures::ParameterTable;
using testing::RowStrategy;
using testing::TemporaryDirectory;
using testing::WholeTensor;

// Embeddings tied to the output, an odd number of rows, a bias.
ParameterTable tied_parameters() {
  ParameterTable table;
  for (const auto& [name, shape] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
           {"base.embed.weight", {5, 4}}, {"base.h.weight", {3, 2}}, {"base.h.bias", {3}}}) {
    architectures::ParameterSpec spec;
    spec.name = name;
    spec.shape = shape;
    table.parameters.push_back(spec);
  }
  table.tied = {{"head.weight", "base.embed.weight"}};
  table.base_prefix = "base.";
  table.ignored_patterns = {"mask$"};
  return table;
}

std::vector<WholeTensor> wholes() {
  std::vector<WholeTensor> wholes;
  float first = 0;
  for (const auto& spec : tied_parameters().parameters) {
    wholes.push_back(
        {spec.name, "", at::arange(spec.numel(), at::kFloat).add(first += 100).view(spec.shape)});
  }
  return wholes;
}

struct Stored {
  std::string name;
  at::Tensor tensor;
};

void write_file(const std::string& folder, const std::vector<Stored>& tensors) {
  storage::PosixFileSystem files;
  std::vector<storage::TensorEntry> entries;
  for (const Stored& stored : tensors) {
    entries.push_back({stored.name, dtype_of(stored.tensor.scalar_type()), stored.tensor.sizes().vec()});
  }
  storage::write_safetensors(files, folder + '/' + storage::kWeightsName, entries,
                             [&](const storage::TensorEntry& entry) {
                               for (const Stored& stored : tensors) {
                                 if (stored.name == entry.name) return bytes_of(stored.tensor);
                               }
                               return std::string_view();
                             });
}

std::vector<Stored> plain_tensors() {
  std::vector<Stored> stored;
  for (const WholeTensor& whole : wholes()) stored.push_back({whole.parameter, whole.tensor});
  return stored;
}

std::vector<std::string> load(const std::string& folder, RowStrategy& strategy) {
  return load_weights(tied_parameters(), storage::StoredWeights(folder), strategy).unused;
}

std::string refusal(const std::vector<Stored>& tensors) {
  const TemporaryDirectory folder;
  write_file(folder.path(), tensors);
  RowStrategy strategy(0, 2, wholes());
  try {
    load(folder.path(), strategy);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "accepted";
}

void save_weights_by(int world_size, bool sharded, int64_t max_shard_bytes, const std::string& folder) {
  storage::PosixFileSystem files;
  for (int rank = 0; rank < world_size; ++rank) {
    RowStrategy strategy(rank, world_size, wholes());
    storage::StagedFiles staged(files, folder);
    DirectTarget target(staged);
    if (sharded) {
      save_sharded_weights(strategy, rank, target);
    } else {
      save_weights(tied_parameters(), at::kFloat, strategy, max_shard_bytes, rank == 0 ? &target : nullptr);
    }
  }
}

TEST_CASE("a parameter is found under the name that another release stores it by") {
  const TemporaryDirectory folder;
  std::vector<Stored> tensors = plain_tensors();
  tensors[1].name = "h.old_weight";  // without the prefix, too
  write_file(folder.path(), tensors);
  ParameterTable table = tied_parameters();
  table.parameters[1].other_names = {"base.older_weight", "base.old_weight", "base.h.old_weight"};
  RowStrategy strategy(0, 1, wholes());
  strategy.forget();
  CHECK(load_weights(table, storage::StoredWeights(folder.path()), strategy).unused.empty());
  CHECK(strategy.equals_wholes());
}

TEST_CASE("any number of ranks loads what any other saved, whole or sharded") {
  const TemporaryDirectory folder;
  const bool sharded = GENERATE(false, true);
  const int saving = GENERATE(1, 2, 4);
  save_weights_by(saving, sharded, 1000, folder.path());
  CHECK(path_exists(folder / "model.safetensors") != sharded);
  for (const int world_size : {1, 3, 4}) {
    for (int rank = 0; rank < world_size; ++rank) {
      RowStrategy strategy(rank, world_size, wholes());
      strategy.forget();
      CHECK(load(folder.path(), strategy).empty());
      CHECK(strategy.equals_wholes());
    }
  }
}

TEST_CASE("whole weights fill files of the size asked for and are the bytes of a plain save") {
  const TemporaryDirectory folder;
  save_weights_by(2, false, 100, folder.path());
  const storage::ModelWeights weights(folder.path());
  CHECK(weights.shards().size() == 2);
  for (const WholeTensor& whole : wholes())
    CHECK(weights.at(whole.parameter).bytes == bytes_of(whole.tensor));
  const TemporaryDirectory one, plain;
  save_weights_by(2, false, 1000, one.path());
  write_file(plain.path(), plain_tensors());
  CHECK(read_file(one / "model.safetensors") == read_file(plain / "model.safetensors"));
}

TEST_CASE("stored numbers are cast to the type of the parameters") {
  const TemporaryDirectory folder;
  std::vector<Stored> stored = plain_tensors();
  for (Stored& one : stored) one.tensor = one.tensor.to(at::kBFloat16);
  write_file(folder.path(), stored);
  std::vector<WholeTensor> rounded = wholes();
  for (WholeTensor& whole : rounded) whole.tensor = whole.tensor.to(at::kBFloat16).to(at::kFloat);
  RowStrategy strategy(1, 2, rounded);
  strategy.forget();
  load(folder.path(), strategy);
  CHECK(strategy.equals_wholes());
}

TEST_CASE("a parameter is found without its prefix, under its tied alias, or under both when they agree") {
  const TemporaryDirectory folder;
  std::vector<Stored> stored = plain_tensors();
  SECTION("without the prefix") {
    for (Stored& one : stored) one.name = one.name.substr(std::string("base.").size());
  }
  SECTION("under its alias") {
    stored[0].name = "head.weight";
  }
  SECTION("under both") {
    stored.push_back({"head.weight", stored[0].tensor});
  }
  SECTION("under both, in another type") {
    stored.push_back({"head.weight", stored[0].tensor.to(at::kDouble)});
  }
  write_file(folder.path(), stored);
  RowStrategy strategy(1, 2, wholes());
  strategy.forget();
  CHECK(load(folder.path(), strategy).empty());
  CHECK(strategy.equals_wholes());
}

TEST_CASE(
    "an adapter's file of before has a tied matrix once, and nothing that its config names is left out") {
  const TemporaryDirectory folder;
  storage::PosixFileSystem files;
  const std::string prefix = architectures::kAdapterPrefix;
  const WholeTensor words = wholes().front();
  const auto loaded = [&](const architectures::AdapterSpec& spec, const std::string& more) {
    std::vector<storage::TensorEntry> entries;
    for (const std::string& name : {words.parameter, more}) {
      if (!name.empty()) entries.push_back({prefix + name, storage::DType::kF32, words.tensor.sizes().vec()});
    }
    storage::write_safetensors(files, folder / architectures::kAdapterWeightsName,
                               storage::in_file_order(std::move(entries)),
                               [&](const storage::TensorEntry& /*entry*/) { return bytes_of(words.tensor); });
    RowStrategy strategy(0, 1, {words});
    strategy.forget();
    load_adapter(tied_parameters(), {0}, spec,
                 storage::StoredWeights(folder.path(), architectures::kAdapterWeightsName), strategy);
    return strategy.equals_wholes();
  };
  const architectures::AdapterSpec own{.targets = {"h"}, .saved_modules = {"embed", "score"}};
  CHECK(loaded(own, ""));
  CHECK(loaded(own, "head.weight"));
  CHECK(loaded(own, "base.h.base_layer.weight"));  // a copy of what stays as it is
  CHECK_REFUSED(loaded(own, "score.weight"), "no place for 'score.weight' of the adapter");
  CHECK_REFUSED(loaded(own, "base.h.lora_A.weight"), "no place for 'base.h.lora_A.weight'");
  const auto beside = [&](const at::Tensor& numbers) {
    storage::write_safetensors(files, folder / architectures::kAdapterWeightsName,
                               {{prefix + words.parameter, storage::DType::kF32, words.tensor.sizes().vec()}},
                               [&](const storage::TensorEntry& /*entry*/) { return bytes_of(numbers); });
    RowStrategy strategy(0, 1, {words});
    load_adapter(tied_parameters(), {}, {.targets = {"h"}},
                 storage::StoredWeights(folder.path(), architectures::kAdapterWeightsName), strategy);
    return strategy.equals_wholes();
  };
  CHECK(beside(words.tensor));
  CHECK_REFUSED(beside(words.tensor + 1), "peft has saved it beside the adapter");
  architectures::AdapterSpec peft = own;
  peft.saved_modules = {"base.embed"};
  peft.tied_as_one = false;
  peft.peft_ties = true;
  CHECK(loaded(peft, "head.weight"));
  CHECK_REFUSED(loaded(peft, ""), "the adapter has two matrices where the model has one");
}

TEST_CASE(
    "two copies of a tied matrix are one where they are the same in the type that they are compared in") {
  const TemporaryDirectory folder;
  std::vector<Stored> stored = plain_tensors();
  at::Tensor near = stored[0].tensor.clone();
  near[1][2] += 1e-5;
  stored.push_back({"head.weight", near});
  write_file(folder.path(), stored);
  const auto loaded = [&](at::ScalarType compared) {
    RowStrategy strategy(0, 1, wholes());
    strategy.forget();
    load_weights(tied_parameters(), storage::StoredWeights(folder.path()), strategy, {},
                 {.compared = compared});
    return strategy.equals_wholes();
  };
  CHECK(loaded(at::kBFloat16));
  CHECK(loaded(at::kHalf));
  CHECK_REFUSED(loaded(at::kFloat), "are tied but differ in the file");
}

TEST_CASE("norms of the first releases and other names of a parameter are found, and none is called unused") {
  std::vector<WholeTensor> parameters;
  ParameterTable table;
  for (const char* name : {"base.LayerNorm.weight", "base.LayerNorm.bias", "head.bias"}) {
    table.parameters.push_back({.name = name, .shape = {3}});
    const double first = 10 * static_cast<double>(table.parameters.size());
    parameters.push_back({name, "", at::arange(3, at::kFloat).add(first)});
  }
  table.parameters.back().other_names = {"head.decoder.bias"};
  table.base_prefix = "base.";
  const bool under_both = GENERATE(false, true);
  std::vector<Stored> stored = {{"LayerNorm.gamma", parameters[0].tensor},
                                {"base.LayerNorm.beta", parameters[1].tensor},
                                {"head.decoder.bias", parameters[2].tensor}};
  table.parameters.back().head = true;
  if (under_both) stored.push_back({"head.bias", at::ones({3})});  // which nobody uses
  const TemporaryDirectory folder;
  write_file(folder.path(), stored);
  RowStrategy strategy(0, 1, parameters);
  strategy.forget();
  CHECK(load_weights(table, storage::StoredWeights(folder.path()), strategy).unused.empty());
  CHECK(strategy.equals_wholes());
}

TEST_CASE("what does not fit the model is refused by name") {
  std::vector<Stored> stored = plain_tensors();
  SECTION("tied tensors that differ in a row of this rank") {
    at::Tensor other = stored[0].tensor.clone();
    other[1][2] += 1;
    stored.push_back({"head.weight", other});
    CHECK_THAT(refusal(stored), Catch::Contains("'head.weight' are tied but differ"));
  }
  SECTION("a missing tensor") {
    stored[1].name = "base.h.weigth";
    CHECK_THAT(refusal(stored), Catch::Contains("lack 'base.h.weight'") && Catch::Contains("base.h.weigth"));
  }
  SECTION("a wrong shape") {
    stored[1].tensor = at::ones({2, 3});
    CHECK_THAT(refusal(stored), Catch::Contains("asks for [3, 2], the file holds [2, 3]"));
  }
}

TEST_CASE("a body is found under the prefix of another head, and a head that is not there stays as it was") {
  ParameterTable table = tied_parameters();
  table.other_prefixes = {"body."};
  architectures::ParameterSpec score;
  score.name = "score.weight";
  score.shape = {2, 4};
  score.head = true;
  table.parameters.push_back(score);
  const TemporaryDirectory folder;
  std::vector<Stored> stored = plain_tensors();
  for (Stored& one : stored) one.name = "body." + one.name.substr(std::string("base.").size());
  stored.push_back({"old_head.weight", at::ones({2})});
  write_file(folder.path(), stored);
  std::vector<WholeTensor> expected = wholes();
  RowStrategy strategy(0, 1, expected);
  strategy.forget();
  const storage::StoredWeights weights(folder.path());
  CHECK_THROWS_WITH(load_weights(table, weights, strategy), Catch::Contains("lack 'score.weight'"));
  const LoadedWeights loaded = load_weights(table, weights, strategy, {}, {.head = StoredHead::kAnother});
  CHECK(loaded.missing == std::vector<std::string>{"score.weight"});
  CHECK(loaded.unused == std::vector<std::string>{"old_head.weight"});
  CHECK(strategy.equals_wholes());
}

TEST_CASE("stored tensors that nothing asked for are named, known buffers are not") {
  const TemporaryDirectory folder;
  std::vector<Stored> stored = plain_tensors();
  stored.push_back({"extra", at::ones({2})});
  stored.push_back({"base.h.mask", at::ones({2})});
  write_file(folder.path(), stored);
  RowStrategy strategy(0, 1, wholes());
  CHECK(load(folder.path(), strategy) == std::vector<std::string>{"extra"});
}

}  // namespace
}  // namespace hftrain::checkpoint
