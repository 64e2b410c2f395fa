// Over a folder that accelerate's own calls wrote of two ranks (scripts/golden/fsdp_parts.py).
#include "hftrain/interchange/fsdp_folder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/others_summary.h"
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
  const storage::StoredWeights weights = open_fsdp_model(golden_parts(), DcpFolder::Checksums::kCompared);
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

TEST_CASE("an optimizer's state of two ranks is read by the names of parameters") {
  const Json expected = read_json_file(golden_parts() + "/expected.json");
  const OptimizerStates states = open_fsdp_optimizer(golden_parts(), DcpFolder::Checksums::kCompared);
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
