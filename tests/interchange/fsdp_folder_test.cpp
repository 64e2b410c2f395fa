// Over a folder that accelerate's own calls wrote of two ranks (scripts/golden/fsdp_parts.py).
#include "hftrain/interchange/fsdp_folder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/others_summary.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/interchange/trainer_folder.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string golden_parts() {
  return testing::source_dir() + "/tests/golden/interchange/fsdp";
}

// With what the Trainer leaves beside the parts.
struct FolderInParts : TemporaryDirectory {
  FolderInParts() {
    fs::copy(golden_parts(), path(), fs::copy_options::recursive);
    fs::copy_file(golden_parts() + "/../scheduler.pt", *this / "scheduler.pt");
    std::ofstream(*this / "trainer_state.json") << R"({"global_step": 2, "epoch": 0.5})";
  }
};

std::vector<double> numbers_of(const Json& nested) {
  std::vector<double> numbers;
  if (!nested.is_array()) return {nested.get<double>()};
  for (const Json& item : nested) {
    for (const double number : numbers_of(item)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<double> box_of(const storage::SlicedTensor& tensor, const storage::Box& box) {
  std::vector<float> values(storage::volume(box));
  storage::read_box(tensor, box,
                    std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)), "here");
  return {values.begin(), values.end()};
}

std::vector<double> whole_of(const storage::SlicedTensor& tensor) {
  return box_of(tensor, {std::vector<int64_t>(tensor.shape.size(), 0), tensor.shape});
}

TEST_CASE("weights of two ranks are read under their names, any box of them") {
  const Json expected = read_json_file(golden_parts() + "/expected.json");
  const storage::StoredWeights weights = open_fsdp_model(golden_parts(), Checksums::kCompared);
  REQUIRE(weights.entries().size() == 2);
  REQUIRE(weights.find("weight") != nullptr);
  CHECK(weights.find("weight")->shape == std::vector<int64_t>{5, 3});
  CHECK(weights.files_of("weight") ==
        std::vector<std::string>{"pytorch_model_fsdp_0/__0_0.distcp", "pytorch_model_fsdp_0/__1_0.distcp"});
  const std::vector<double> all = numbers_of(expected["weight"]);
  std::vector<float> rows(6);
  weights.read("weight", {{2, 0}, {2, 3}},
               std::span(reinterpret_cast<char*>(rows.data()), 24));  // of both ranks
  CHECK(std::vector<double>(rows.begin(), rows.end()) ==
        std::vector<double>(all.begin() + 6, all.begin() + 12));
}

TEST_CASE(
    "the folder of the model by itself is read under the same names, and one of an optimizer has none") {
  const std::string folder = golden_parts() + '/' + kFsdpModel;
  const storage::StoredWeights weights = open_dcp_model(folder, Checksums::kCompared);
  REQUIRE(weights.find("weight") != nullptr);
  CHECK(weights.entries().size() == 2);
  CHECK(weights.files_of("weight") == std::vector<std::string>{"__0_0.distcp", "__1_0.distcp"});
  std::vector<float> row(3), same(3);
  const auto bytes_of = [](std::vector<float>& numbers) {
    return std::span(reinterpret_cast<char*>(numbers.data()), 12);
  };
  weights.read("weight", {{4, 0}, {1, 3}}, bytes_of(row));
  open_fsdp_model(golden_parts()).read("weight", {{4, 0}, {1, 3}}, bytes_of(same));
  CHECK(row == same);
  CHECK_THROWS_AS(open_dcp_model(golden_parts() + '/' + kFsdpOptimizer), Error);
}

TEST_CASE("an optimizer's state of two ranks is read by the names of parameters") {
  const Json expected = read_json_file(golden_parts() + "/expected.json");
  const OptimizerStates states = open_fsdp_optimizer(golden_parts(), Checksums::kCompared);
  CHECK(states.state_names() == std::vector<std::string>{"exp_avg", "exp_avg_sq", "step"});
  for (const std::string parameter : {"weight", "bias"}) {
    CHECK(states.has_state(parameter));
    for (const std::string& state : states.state_names()) {
      const storage::SlicedTensor* tensor = states.find(parameter, state);
      REQUIRE(tensor != nullptr);
      CHECK(whole_of(*tensor) == numbers_of(expected[parameter + '.' + state]));
    }
  }
  CHECK(states.find("bias", "step")->shape == std::vector<int64_t>{1});
  CHECK(!states.has_state("other"));
}

TEST_CASE("a folder in parts is whole, and without its files it is refused by their names") {
  const FolderInParts folder;
  CHECK(check_trainer_folder(folder.path()).whole);
  CHECK(has_trainer_optimizer(folder.path()));
  check_weights(folder.path());
  const std::string file = folder / "optimizer_0/__1_0.distcp";
  std::string bytes = read_file(file);
  const auto refused = [&] {
    try {
      check_trainer_folder(folder.path());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK(!error.diagnostics().front().hint.empty());
      return error.diagnostics().front();
    }
    return Diagnostic{};
  };
  fs::resize_file(file, bytes.size() - 1);
  CHECK(refused().where.find(file) == 0);
  fs::remove(file);
  CHECK(refused().where == file);
  CHECK(refused().why == "the file is missing");
  // One bit of a tensor's numbers: the bytes of exp_avg's last row.
  const OptimizerStates states = open_fsdp_optimizer(golden_parts());
  const std::string_view numbers = states.find("weight", "exp_avg")->slices.back().stored->bytes;
  bytes[bytes.find(numbers)] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  CHECK(refused().where.find(file) == 0);
  CHECK(refused().why.find("checksum") != std::string::npos);
}

// FULL_STATE_DICT: each in one file.
struct FolderInFiles : TemporaryDirectory {
  explicit FolderInFiles(const std::string& golden) {
    for (const char* name : {kFsdpModelFile, kFsdpOptimizerFile})
      fs::copy_file(golden_parts() + "/../" + golden + '/' + name, *this / name);
    fs::copy_file(golden_parts() + "/../scheduler.pt", *this / "scheduler.pt");
    std::ofstream(*this / "trainer_state.json") << R"({"global_step": 2, "epoch": 0.5})";
  }
};

TEST_CASE("with FULL_STATE_DICT weights and the optimizer's state are read of a file each") {
  const Json expected = read_json_file(golden_parts() + "/expected.json");
  const FolderInFiles folder("fsdp_whole");  // the same numbers as in parts
  const TrainerFolder found = check_trainer_folder(folder.path());
  CHECK(found.whole);
  CHECK(is_in_parts(folder.path()));
  check_weights(folder.path());
  const storage::StoredWeights weights = open_weights(folder.path());
  CHECK(weights.files_of("weight") == std::vector<std::string>{"pytorch_model_fsdp.bin"});
  const OptimizerStates states = open_named_optimizer(folder.path());
  CHECK(states.state_names() == std::vector<std::string>{"exp_avg", "exp_avg_sq", "step"});
  for (const std::string parameter : {"weight", "bias"}) {
    const std::vector<double> own = numbers_of(expected[parameter]);
    std::vector<float> read(own.size());
    const std::vector<int64_t>& shape = weights.find(parameter)->shape;
    weights.read(parameter, {std::vector<int64_t>(shape.size(), 0), shape},
                 std::span(reinterpret_cast<char*>(read.data()), read.size() * sizeof(float)));
    CHECK(std::vector<double>(read.begin(), read.end()) == own);
    for (const std::string& state : states.state_names())
      CHECK(whole_of(*states.find(parameter, state)) == numbers_of(expected[parameter + '.' + state]));
  }
  const std::optional<storage::CheckpointSummary> summary = summarize_others(folder.path());
  REQUIRE(summary);
  CHECK(summary->writer->name == "transformers' Trainer, with FSDP");
  CHECK(summary->optimizer.size() == 6);
  CHECK(summary->optimizer.front().files == std::vector<std::string>{"optimizer.bin"});
}

std::vector<double> whole_of(const storage::StoredWeights& weights, const std::string& name) {
  const std::vector<int64_t>& shape = weights.find(name)->shape;
  const storage::Box whole{std::vector<int64_t>(shape.size(), 0), shape};
  std::vector<float> values(storage::volume(whole));
  weights.read(name, whole, std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float)));
  return {values.begin(), values.end()};
}

// With use_orig_params false the numbers of a unit are one tensor while it trains, and the states in the file lie in one storage.
TEST_CASE("FSDP 1 with FULL_STATE_DICT is read by the names of parameters, however its units keep them") {
  const Json expected = read_json_file(golden_parts() + "/../fsdp1.json");
  const FolderInFiles folder(GENERATE("fsdp1_whole", "fsdp1_flat"));
  CHECK(check_trainer_folder(folder.path()).whole);
  check_weights(folder.path());
  const storage::StoredWeights weights = open_weights(folder.path());
  const OptimizerStates states = open_named_optimizer(folder.path());
  CHECK(weights.entries().size() == 6);
  CHECK(states.all().size() == 15);
  for (const auto& [key, numbers] : expected.items()) {
    INFO(key);
    const size_t dot = key.rfind('.');
    const storage::SlicedTensor* state = states.find(key.substr(0, dot), key.substr(dot + 1));
    REQUIRE((state != nullptr || weights.find(key) != nullptr));
    CHECK((state != nullptr ? whole_of(*state) : whole_of(weights, key)) == numbers_of(numbers));
  }
  CHECK(states.find("inner.1.weight", "exp_avg")->shape == std::vector<int64_t>{3, 4});
  CHECK(states.find("inner.1.weight", "step")->shape == std::vector<int64_t>{1});
  CHECK(whole_of(weights, "head.weight") ==
        whole_of(weights, "embed.weight"));  // the file has a tied one twice
}

// Values of a file of torch.save, and what the reader says of them.
template <typename Write>
std::string refused_values(const std::string& path, const Write& write, const std::function<void()>& read) {
  TorchWriter file;
  write(file);
  storage::PosixFileSystem files;
  fs::remove(path);
  file.finish(files, path);
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where.find(path) == 0);
    return error.diagnostics().front().why;
  }
  return "";
}

TEST_CASE("files of FULL_STATE_DICT that hold something else are refused by what it is") {
  const TemporaryDirectory folder;
  const auto tensor = [](TorchWriter& file) {
    file.tensor(storage::DType::kF32, {1}, [](const ByteSink& sink) { sink(std::string(4, '\0')); });
  };
  const auto model = [&](const auto& write) {
    return refused_values(folder / kFsdpModelFile, write, [&] { open_fsdp_model(folder.path()); });
  };
  CHECK(model([&](TorchWriter& file) {
          file.values().open_dict();
          for (int i = 0; i < 2; ++i) {
            file.values().text("w");
            tensor(file);
          }
          file.values().close_dict();
        }) == "'w' occurs twice");
  CHECK(model([&](TorchWriter& file) {
          file.values().open_dict();
          file.values().text("w");
          file.values().number(1);
          file.values().close_dict();
        }) == "a parameter is a number and not a tensor");
  CHECK(model([&](TorchWriter& file) {
          file.values().open_dict();
          file.values().close_dict();
        }) == "it holds no tensor");
  CHECK(model([&](TorchWriter& file) { tensor(file); }) == "what the model holds is a tensor and not a list");
  const auto optimizer = [&](const auto& key) {
    return refused_values(
        folder / kFsdpOptimizerFile,
        [&](TorchWriter& file) {
          file.values().open_dict();
          file.values().text("state");
          file.values().open_dict();
          key(file);
          file.values().open_dict();
          for (int i = 0; i < 100; ++i) {
            file.values().text("state" + std::to_string(i));
            file.values().integer(1);
          }
          file.values().close_dict();
          file.values().close_dict();
          file.values().close_dict();
        },
        [&] { open_fsdp_optimizer(folder.path()); });
  };
  // As torch itself numbers parameters: accelerate without FSDP.
  CHECK(optimizer([](TorchWriter& file) { file.values().integer(0); }) ==
        "the name of a parameter is a whole number and not a text");
  CHECK(optimizer([](TorchWriter& file) { file.values().text("w"); }) ==
        "a parameter has more than 64 states");
}

TEST_CASE("what others wrote is summarised: step, who, tensors, optimizer") {
  const FolderInParts folder;
  const std::optional<storage::CheckpointSummary> found = summarize_others(folder.path());
  REQUIRE(found);
  REQUIRE(found->writer);
  CHECK(found->writer->step == 2);
  CHECK(found->weights.size() == 2);
  CHECK(found->optimizer.size() == 6);
  const Json json = storage::summary_to_json(*found);
  CHECK(json["step"] == 2);
  CHECK(json["written_by"] == "transformers' Trainer, in the parts of FSDP");
  CHECK(json["weights"]["numbers"] == 20);
  CHECK(storage::render_summary(*found).find("step: 2\n") != std::string::npos);
  const auto alone = summarize_others(folder / "pytorch_model_fsdp_0");
  REQUIRE(alone);
  CHECK(alone->weights.front().entry.name == "model.bias");
  CHECK(alone->optimizer.empty());
  fs::create_directory(folder / "hftrain");  // the end of a run of ours
  CHECK(!summarize_others(folder.path()));
}

}  // namespace
}  // namespace hftrain::interchange
