// Optimizers as others leave them, into the parts of a strategy.
#include "hftrain/checkpoint/trainer_checkpoint.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "checkpoint/row_strategy.h"
#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/error.h"
#include "hftrain/checkpoint/optimizer_state.h"
#include "hftrain/checkpoint/run_loader.h"
#include "hftrain/comm/backend_table.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/storage/safetensors_writer.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::checkpoint {
namespace {

using testing::RowStrategy;
using testing::TemporaryDirectory;
using testing::WholeTensor;

const TrainerGroups kGroups = {{"w"}, {"b"}};

std::vector<WholeTensor> their_adam() {
  return {{"w", "step", at::scalar_tensor(7, at::kFloat)},
          {"w", "exp_avg", at::arange(15, at::kFloat).view({5, 3})},
          {"b", "step", at::scalar_tensor(7, at::kFloat)},
          {"b", "exp_avg", at::arange(4, at::kFloat)}};
}

void write_states(interchange::TorchWriter& file, const std::vector<WholeTensor>& states,
                  const std::string& parameter) {
  file.values().open_dict();
  for (const WholeTensor& whole : states) {
    if (whole.parameter != parameter) continue;
    file.values().text(whole.state);
    file.tensor(storage::DType::kF32, whole.tensor.sizes().vec(),
                [&whole](const interchange::ByteSink& sink) {
                  sink({static_cast<const char*>(whole.tensor.const_data_ptr()), whole.tensor.nbytes()});
                });
  }
  file.values().close_dict();
}

// What accelerate leaves of FSDP with FULL_STATE_DICT.
void write_by_name(const std::string& folder, const std::vector<WholeTensor>& states,
                   const std::vector<std::string>& parameters) {
  interchange::TorchWriter file;
  file.values().open_dict();
  file.values().text("state");
  file.values().open_dict();
  for (const std::string& parameter : parameters) {
    file.values().text(parameter);
    write_states(file, states, parameter);
  }
  file.values().close_dict();
  file.values().close_dict();
  storage::PosixFileSystem files;
  file.finish(files, folder + "/optimizer.bin");
}

// The Trainer's optimizer.pt: one group for each.
void write_by_place(const std::string& folder, const std::vector<WholeTensor>& states,
                    const std::vector<std::string>& parameters) {
  interchange::TorchWriter file;
  file.values().open_dict();
  file.values().text("state");
  file.values().open_dict();
  for (const std::string& parameter : parameters) {
    file.values().integer(parameter == "w" ? 0 : 1);
    write_states(file, states, parameter);
  }
  file.values().close_dict();
  file.values().text("param_groups");
  file.values().open_list();
  for (const int number : {0, 1}) {
    file.values().open_dict();
    file.values().text("params");
    file.values().open_list();
    file.values().integer(number);
    file.values().close_list();
    file.values().close_dict();
  }
  file.values().close_list();
  file.values().close_dict();
  storage::PosixFileSystem files;
  file.finish(files, folder + "/optimizer.pt");
}

std::vector<std::string> load_alone(RowStrategy& strategy, const TrainerGroups& groups,
                                    const std::string& folder,
                                    const architectures::ParameterTable& table = {}) {
  return load_trainer_optimizer(strategy, kept_states(strategy), groups, table, folder, {});
}

Diagnostic refused_optimizer(const std::string& folder, const std::vector<WholeTensor>& own,
                             const TrainerGroups& groups) {
  try {
    RowStrategy strategy(0, 1, own);
    load_alone(strategy, groups, folder);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    const Diagnostic& said = error.diagnostics().front();
    CHECK(!said.where.empty());
    CHECK(!said.hint.empty());
    return said;
  }
  return {};
}

TEST_CASE("an optimizer's state in one file by names fills the parts of any number of ranks") {
  const TemporaryDirectory folder;
  write_by_name(folder.path(), their_adam(), {"w", "b"});
  for (const int world_size : {1, 2, 4}) {
    for (int rank = 0; rank < world_size; ++rank) {
      RowStrategy strategy(rank, world_size, their_adam());
      strategy.forget();
      CHECK(load_alone(strategy, kGroups, folder.path()).empty());
      CHECK(strategy.equals_wholes());
    }
  }
}

TEST_CASE("state of an adapter is found without the name that peft gives it") {
  const TemporaryDirectory folder;
  std::vector<WholeTensor> saved = their_adam(), own = their_adam();
  for (size_t i = 0; i < saved.size(); ++i) {
    const bool factor = saved[i].parameter == "w";
    saved[i].parameter = factor ? "base_model.model.h.0.lora_A.default.weight"
                                : "base_model.model.score.modules_to_save.default.bias";
    own[i].parameter = factor ? "h.0.lora_A.weight" : "score.bias";
  }
  write_by_name(folder.path(), saved, {saved.front().parameter, saved.back().parameter});
  RowStrategy strategy(0, 1, own);
  strategy.forget();
  CHECK(load_alone(strategy, {{"h.0.lora_A.weight"}, {"score.bias"}}, folder.path()).empty());
  CHECK(strategy.equals_wholes());
}

TEST_CASE("state is found under the names that modules have in memory, and files do not") {
  const TemporaryDirectory folder;
  std::vector<WholeTensor> saved = their_adam(), own = their_adam();
  architectures::ParameterTable table;
  for (size_t i = 0; i < saved.size(); ++i) {
    const std::string name = saved[i].parameter;
    saved[i].parameter = "vit.layers.0.attention.q_proj." + name;
    own[i].parameter = "vit.encoder.layer.0.attention.attention.query." + name;
    architectures::ParameterSpec spec{own[i].parameter, {}, {}};
    spec.other_names = {saved[i].parameter};
    table.parameters.push_back(std::move(spec));
  }
  write_by_name(folder.path(), saved, {saved.front().parameter, saved.back().parameter});
  RowStrategy strategy(0, 1, own);
  strategy.forget();
  CHECK(
      load_alone(strategy, {{own.front().parameter}, {own.back().parameter}}, folder.path(), table).empty());
  CHECK(strategy.equals_wholes());
}

// A file of DeepSpeed's universal form.
void write_whole(const std::string& path, const at::Tensor& tensor) {
  interchange::TorchWriter file;
  file.values().open_dict();
  file.values().text("param");
  file.tensor(storage::DType::kF32, tensor.sizes().vec(), [&tensor](const interchange::ByteSink& sink) {
    sink({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
  });
  file.values().close_dict();
  storage::PosixFileSystem files;
  file.finish(files, path);
}

TEST_CASE("an adapter goes on from the float32 that DeepSpeed left, and else from its own file") {
  const TemporaryDirectory folder;
  const std::string name = "base_model.model.h.0.lora_A.weight";
  storage::PosixFileSystem files;
  storage::SafetensorsWriter rounded(files, folder / architectures::kAdapterWeightsName,
                                     {{name, storage::DType::kBF16, {4}}}, {});
  rounded.write(name, std::string(8, '\0'));
  rounded.finish();
  CHECK(open_saved_adapter(folder.path()).find(name)->dtype == storage::DType::kBF16);
  const std::string zero = folder / "u/zero/base_model.model.h.0.lora_A.default.weight/";
  std::filesystem::create_directories(zero);
  std::ofstream(folder / "latest_universal") << "u";
  const at::Tensor numbers = at::arange(4, at::kFloat);
  write_whole(zero + "fp32.pt", numbers);
  write_whole(zero + "exp_avg.pt", numbers);
  const storage::StoredWeights weights = open_saved_adapter(folder.path());
  REQUIRE(weights.find(name) != nullptr);
  REQUIRE(weights.find(name)->dtype == storage::DType::kF32);
  at::Tensor found = at::full_like(numbers, -1);
  weights.read(name, {{0}, {4}}, {static_cast<char*>(found.mutable_data_ptr()), found.nbytes()});
  CHECK(found.equal(numbers));
}

// A model's own file, or an adapter's, in which `name` is 0, rounded, beside the float32 of DeepSpeed that has `numbers`.
void write_beside_rounded(const std::string& folder, const std::string& file, const std::string& name,
                          const std::string& deepspeeds, const at::Tensor& numbers) {
  storage::PosixFileSystem files;
  storage::SafetensorsWriter rounded(files, folder + '/' + file,
                                     {{name, storage::DType::kBF16, numbers.sizes().vec()}}, {});
  rounded.write(name, std::string(static_cast<size_t>(numbers.numel()) * 2, '\0'));
  rounded.finish();
  const std::string zero = folder + "/u/zero/" + deepspeeds + '/';
  std::filesystem::create_directories(zero);
  std::ofstream(folder + "/latest_universal") << "u";
  write_whole(zero + "fp32.pt", numbers);
  write_whole(zero + "exp_avg.pt", numbers);
}

TEST_CASE(
    "the best model is the float32 that DeepSpeed left, of an adapter too, and a new run's its own file") {
  const bool adapter = GENERATE(false, true);
  const TemporaryDirectory folder;
  const std::string name = adapter ? "h.0.lora_A.weight" : "w",
                    stored = adapter ? "base_model.model." + name : name,
                    deepspeeds = adapter ? "base_model.model.h.0.lora_A.default.weight" : name;
  const at::Tensor numbers = at::arange(15, at::kFloat).view({5, 3}).add(0.1);
  write_beside_rounded(folder.path(), adapter ? architectures::kAdapterWeightsName : "model.safetensors",
                       stored, deepspeeds, numbers);
  architectures::ParameterSpec spec;
  spec.name = name;
  spec.shape = {5, 3};
  architectures::ParameterTable table;
  table.parameters = {spec};
  plan::RunPlan plan;
  if (adapter) plan.model.adapter.emplace();
  const auto communicator = comm::make_communicator({}, comm::builtin_backends());
  const auto loaded = [&](const std::function<void(RunLoader&)>& load) {
    RowStrategy strategy(0, 1, {{name, "", numbers}});
    strategy.forget();
    RunLoader loader({plan, table, at::kFloat, strategy, *communicator});
    load(loader);
    return strategy.equals_wholes();
  };
  CHECK(loaded([&](RunLoader& loader) { loader.load_saved(folder.path()); }));
  CHECK_FALSE(loaded([&](RunLoader& loader) {
    adapter ? loader.load_adapter_of(folder.path()) : static_cast<void>(loader.load_model(folder.path()));
  }));
}

TEST_CASE("parameters of which others have no state are named, and theirs stays as it began") {
  const TemporaryDirectory folder;
  const bool by_name = GENERATE(true, false);
  (by_name ? write_by_name : write_by_place)(folder.path(), their_adam(), {"w"});
  RowStrategy strategy(0, 1, their_adam());
  strategy.forget();
  CHECK(load_alone(strategy, kGroups, folder.path()) == std::vector<std::string>{"b"});
  strategy.visit_optimizer_state(
      [](const parallel::StatePart& part) {
        const bool began = part.tensor.equal(at::full_like(part.tensor, -1));
        CHECK(began == (part.parameter == "b"));
      },
      parallel::Access::kRead);
}

TEST_CASE("momentum of torch's SGD, which counts nothing, is gone on from with the updates of its run") {
  const TemporaryDirectory folder;
  const bool by_name = GENERATE(true, false);
  const at::Tensor buffer = at::arange(15, at::kFloat).view({5, 3});
  (by_name ? write_by_name : write_by_place)(folder.path(), {{"w", "momentum_buffer", buffer}}, {"w"});
  std::ofstream(folder / "trainer_state.json") << R"({"global_step": 7, "epoch": 0.5})";
  RowStrategy strategy(0, 1,
                       {{"w", "step", at::scalar_tensor(7, at::kFloat)}, {"w", "momentum_buffer", buffer}});
  strategy.forget();
  CHECK(load_alone(strategy, {{"w"}, {"b"}}, folder.path()) == std::vector<std::string>{"b"});
  CHECK(strategy.equals_wholes());
  const TemporaryDirectory adam;  // one that counts nothing is none
  (by_name ? write_by_name : write_by_place)(adam.path(), {{"w", "exp_avg", buffer}}, {"w"});
  CHECK(refused_optimizer(adam.path(), their_adam(), kGroups).why.find("keeps 'step'") != std::string::npos);
}

TEST_CASE("an optimizer without any state is refused where this run's keeps some") {
  const TemporaryDirectory folder;
  const bool by_name = GENERATE(true, false);
  (by_name ? write_by_name : write_by_place)(folder.path(), their_adam(), {});
  const Diagnostic said = refused_optimizer(folder.path(), their_adam(), kGroups);
  CHECK(said.what == "the optimizer's state is empty");
  CHECK(said.why.find("this run's --optim keeps step, exp_avg of each") != std::string::npos);
  RowStrategy none(0, 1, {});  // plain SGD keeps nothing
  CHECK(load_alone(none, kGroups, folder.path()).empty());
}

TEST_CASE("a rank that holds no part of any state names what is missing as the others do") {
  const TemporaryDirectory folder;
  const bool by_name = GENERATE(true, false);
  (by_name ? write_by_name : write_by_place)(folder.path(), their_adam(), {"w"});
  RowStrategy nothing(0, 1, {});
  CHECK(load_trainer_optimizer(nothing, {"step", "exp_avg"}, kGroups, {}, folder.path(), {}) ==
        std::vector<std::string>{"b"});
}

TEST_CASE("state of another model or another optimizer is refused by its name") {
  const TemporaryDirectory folder;
  write_by_name(folder.path(), their_adam(), {"w", "b"});
  CHECK(refused_optimizer(folder.path(), {}, kGroups).why ==
        "it keeps exp_avg, step of a parameter, and this run's --optim keeps nothing");
  CHECK(refused_optimizer(folder.path(), their_adam(), {{"w"}, {}}).why ==
        "it has state of 'b', which this run does not train");
  std::vector<WholeTensor> other = their_adam();
  other.erase(other.begin());
  other[0].state = "momentum_buffer";
  CHECK(refused_optimizer(folder.path(), other, kGroups).what ==
        "the optimizer's state is of another optimizer");
  other = their_adam();
  other[1].tensor = at::arange(12, at::kFloat).view({4, 3});
  CHECK(refused_optimizer(folder.path(), other, kGroups).why.find("'w.exp_avg' has the shape [5,3] there") !=
        std::string::npos);
}

}  // namespace
}  // namespace hftrain::checkpoint
