// Over files that torch and the Trainer's own calls wrote (scripts/golden/trainer_files.py).
#include "hftrain/interchange/trainer_folder.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/torch_writer.h"
#include "hftrain/interchange/zip_writer.h"
#include "pickled_values.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::interchange {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string golden_path(const std::string& name) {
  return testing::source_dir() + "/tests/golden/interchange/" + name;
}

// A folder as the Trainer leaves one, without the model.
struct TrainersFolder : TemporaryDirectory {
  TrainersFolder() {
    for (const char* name : {"optimizer.pt", "scheduler.pt", "rng_state.pth", "scaler.pt"})
      fs::copy_file(golden_path(name), *this / name);
    std::ofstream(*this / "trainer_state.json") << R"({"global_step": 2, "epoch": 0.5})";
  }
};

std::vector<float> floats_of(const storage::SlicedTensor& tensor) {
  std::vector<float> values(tensor.slices.front().stored->bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.slices.front().stored->bytes.data(), values.size() * sizeof(float));
  return values;
}

Diagnostic refused_folder(const std::string& folder) {
  try {
    check_trainer_folder(folder);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    const Diagnostic& said = error.diagnostics().front();
    CHECK(!said.what.empty());
    CHECK(!said.where.empty());
    CHECK(!said.why.empty());
    CHECK(!said.hint.empty());
    return said;
  }
  return {};
}

TEST_CASE("a folder of the Trainer's is told from one of ours, and looked through") {
  const TrainersFolder folder;
  CHECK(is_of_trainer(folder.path()));
  const TrainerFolder found = check_trainer_folder(folder.path());
  CHECK(found.step == 2);
  CHECK(found.ranks == 1);
  CHECK(found.whole);
  fs::rename(folder / "rng_state.pth", folder / "rng_state_0.pth");
  fs::copy_file(folder / "rng_state_0.pth", folder / "rng_state_1.pth");
  CHECK(check_trainer_folder(folder.path()).ranks == 2);
  for (const char* ours : {"manifest.json", "hftrain_state.json"}) {
    std::ofstream(folder / ours) << "{}";
    CHECK(!is_of_trainer(folder.path()));
    fs::remove(folder / ours);
  }
}

TEST_CASE("the optimizer's state is found by a parameter's place through the groups") {
  const TrainersFolder folder;
  const TrainerOptimizer optimizer(folder.path());
  CHECK(optimizer.group_sizes() == std::vector<size_t>{1, 1});
  CHECK(optimizer.state_names() == std::vector<std::string>{"exp_avg", "exp_avg_sq", "step"});
  const Json expected = read_json_file(golden_path("expected.json"));
  for (const size_t position : {size_t{0}, size_t{1}}) {
    for (const char* name : {"exp_avg", "exp_avg_sq"}) {
      const storage::SlicedTensor* tensor = optimizer.find(position, name);
      REQUIRE(tensor != nullptr);
      CHECK(floats_of(*tensor) == expected[name][position].get<std::vector<float>>());
    }
    CHECK(optimizer.find(position, "step")->shape == std::vector<int64_t>{1});
    CHECK(floats_of(*optimizer.find(position, "step")) == std::vector<float>{2});
  }
  CHECK(optimizer.find(0, "exp_avg")->shape == std::vector<int64_t>{2, 3});
  CHECK(optimizer.find(2, "exp_avg") == nullptr);
  CHECK(!optimizer.has_state(2));
}

TEST_CASE("schedule, loss scale and random numbers are read as torch and numpy write them") {
  const TrainersFolder folder;
  const TrainerSchedule schedule = read_trainer_schedule(folder.path()).value();
  CHECK(schedule.steps == 2);
  CHECK(schedule.base_rate == 1e-3);
  const auto scaler = read_trainer_scaler(folder.path());
  REQUIRE(scaler);
  CHECK(scaler->scale == 32768);
  CHECK(scaler->good_updates == 12);
  const TrainerRandom random = read_trainer_random(folder.path(), 0, 0);
  REQUIRE(random.cpu.size() == 5056);
  const Json begins = read_json_file(golden_path("expected.json"))["cpu_begins"];
  for (size_t i = 0; i < begins.size(); ++i)
    CHECK(static_cast<unsigned char>(random.cpu[i]) == begins[i].get<unsigned char>());
  CHECK(random.device.empty());
  CHECK(read_trainer_random(folder.path(), 1, 1).cpu.empty());
}

TEST_CASE("random numbers that are gone are told by the name of their file") {
  const TrainersFolder folder;
  const auto warnings = [&] { return check_trainer_folder(folder.path()).warnings; };
  CHECK(warnings().empty());
  fs::rename(folder / "rng_state.pth", folder / "rng_state_0.pth");
  fs::copy_file(folder / "rng_state_0.pth", folder / "rng_state_1.pth");
  CHECK(warnings().empty());
  fs::rename(folder / "rng_state_1.pth", folder / "rng_state_2.pth");
  REQUIRE(warnings().size() == 1);
  CHECK(warnings().front().find("has no rng_state_1.pth") != std::string::npos);
  fs::remove(folder / "rng_state_0.pth");
  CHECK(warnings().front().find("has no rng_state_0.pth") != std::string::npos);
  fs::remove(folder / "rng_state_2.pth");
  REQUIRE(warnings().size() == 1);
  CHECK(warnings().front().find("has no rng_state.pth") != std::string::npos);
}

TEST_CASE("an optimizer's state without a schedule's, or the other way round, is not used, which is told") {
  const auto [lost, words] = GENERATE(
      table<const char*, const char*>({{"optimizer.pt", "holds scheduler.pt and no optimizer.pt"},
                                       {"scheduler.pt", "holds an optimizer's state and no scheduler.pt"}}));
  const TrainersFolder folder;
  fs::remove(folder / lost);
  const TrainerFolder found = check_trainer_folder(folder.path());
  CHECK(!found.whole);
  CHECK(!has_trainer_optimizer(folder.path()));
  REQUIRE(found.warnings.size() == 1);
  CHECK(found.warnings.front().find(words) != std::string::npos);
}

TEST_CASE("a folder with a file cut short, changed or missing is refused, and says which") {
  const TrainersFolder folder;
  const std::string path = folder / "optimizer.pt", whole = read_file(path);
  const std::string numbers(TrainerOptimizer(folder.path()).find(0, "exp_avg")->slices.front().stored->bytes);
  fs::resize_file(path, whole.size() - 40);
  CHECK(refused_folder(folder.path()).where == path);
  std::string changed = whole;
  changed[changed.find(numbers)] ^= 1;
  std::ofstream(path, std::ios::binary) << changed;
  CHECK(refused_folder(folder.path()).where == path);
  fs::remove(path);
  fs::remove(folder / "scheduler.pt");
  CHECK(!check_trainer_folder(folder.path()).whole);
  CHECK(check_trainer_folder(folder.path()).warnings.empty());
}

TEST_CASE("checkpoints in parts that cannot be read are refused with what makes a whole one of them") {
  const std::vector<std::pair<std::string, std::string>> parts = {
      {"pytorch_model_fsdp_0", "hidden files"},
      {"optimizer_0", "hidden files"},
      {"pytorch_model_fsdp_rank0.bin", "SHARDED_STATE_DICT"},
      {"global_step10", "into a file 'latest' beside it"}};
  for (const auto& [name, hint] : parts) {
    const TemporaryDirectory folder;
    std::ofstream(folder / "trainer_state.json") << R"({"global_step": 2})";
    fs::create_directory(folder / name);
    const Diagnostic said = refused_folder(folder.path());
    CHECK(said.where == folder / name);
    CHECK(said.hint.find(hint) != std::string::npos);
  }
}

// One dict that is named many times, as pickles do it, and many keys in one: each small in the file.
std::string repeated(const std::string& piece, size_t count) {
  std::string all;
  while (count-- > 0) all += piece;
  return all;
}
void write_optimizer(const std::string& path, const std::string& groups, const std::string& state) {
  storage::PosixFileSystem files;
  ZipWriter zip(files, path, 0);
  zip.add("o/data.pkl", std::string("\x80\x02}(", 4) + pickled::text("param_groups") + groups +
                            pickled::text("state") + state + "u.");
  zip.finish();
}

TEST_CASE("an optimizer whose parts are named over and over is refused before it is walked") {
  const TrainersFolder folder;
  const std::string path = folder / "optimizer.pt", none = "}";
  const std::string empty_group = "}(" + pickled::text("params") + "]u";
  const auto group = [](const std::string& parameters) {
    return "](}(" + pickled::text("params") + "](" + parameters + "eue";
  };
  const std::string zero("K\0", 2);
  write_optimizer(path, group(zero), none);
  CHECK(TrainerOptimizer(folder.path()).group_sizes() == std::vector<size_t>{1});
  write_optimizer(
      path, "](" + empty_group + std::string("q\0", 2) + repeated(std::string("h\0", 2), 5000) + "e", none);
  CHECK(refused_folder(folder.path()).why.find("groups of parameters") != std::string::npos);
  write_optimizer(path, "](}(" + repeated(pickled::text("k") + "N", 5000) + pickled::text("params") + "]ue",
                  none);
  CHECK(refused_folder(folder.path()).why.find("settings") != std::string::npos);
  const std::string state = "}(" + pickled::text("step") + std::string("K\1", 2) + "u";
  write_optimizer(
      path, group(zero),
      "}(" + zero + state + std::string("q\0", 2) + repeated(zero + std::string("h\0", 2), 3) + "u");
  CHECK(refused_folder(folder.path()).why == "a parameter has its state twice");
}

TEST_CASE("a schedule that follows a metric is refused") {
  const TrainersFolder folder;
  TorchWriter file;
  file.values().open_dict();
  file.values().text("best");
  file.values().number(1);
  file.values().close_dict();
  storage::PosixFileSystem files;
  file.finish(files, folder / "scheduler.pt");
  CHECK(refused_folder(folder.path()).why.find("none that goes by steps") != std::string::npos);
}

}  // namespace
}  // namespace hftrain::interchange
