// The built program, driven from a shell: hftrain checkpoint.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "built_programs.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/model_folder.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::app {
namespace {

using testing::kProgram;
using testing::Outcome;
using testing::TemporaryDirectory;

Outcome run_checkpoint(const TemporaryDirectory& folder, const std::string& arguments) {
  const std::string command =
      kProgram + " checkpoint " + arguments + " > " + folder / "out.txt" + " 2> " + folder / "err.txt";
  Outcome outcome;
  const int status = std::system(command.c_str());
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.out = read_file(folder / "out.txt");
  outcome.err = read_file(folder / "err.txt");
  return outcome;
}

std::string make_checkpoint(const std::string& output_dir) {
  storage::PosixFileSystem files;
  storage::CheckpointTransaction transaction(files, output_dir, 3);
  storage::StagedFiles staged(files, transaction.directory());
  storage::SafetensorsWriter model =
      staged.open_safetensors(storage::kWeightsName, {{"w", storage::DType::kF32, {2}}});
  model.write("w", "12345678");
  staged.close(model);
  staged.put("config.json", "{}");
  staged.put("trainer_state.json", "{}");
  staged.sync_names();
  storage::Manifest manifest;
  manifest.files = staged.records();
  return transaction.commit(std::move(manifest));
}

TEST_CASE("checkpoint inspect of what is no model says what is wrong, and what to do", "[process]") {
  const TemporaryDirectory folder;
  const std::string empty = folder / "empty", gone = folder / "gone";
  std::filesystem::create_directory(empty);
  std::filesystem::create_symlink("circle", folder / "circle");
  for (const char* action : {"inspect ", "verify "}) {
    const Outcome hidden = run_checkpoint(folder, action + folder / "circle");
    CHECK(hidden.exit_code == 4);
    CHECK_THAT(hidden.err, Catch::Contains("a path cannot be looked at") && Catch::Contains("try: "));
  }
  for (const auto& [path, why] :
       {std::pair(gone, "the folder does not exist"), std::pair(empty, "it has neither")}) {
    const Outcome outcome = run_checkpoint(folder, "inspect " + path);
    CHECK(outcome.exit_code == 4);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, Catch::Contains("no model weights in the folder") && Catch::Contains(path) &&
                                Catch::Contains(why) && Catch::Contains("try: "));
  }
}

TEST_CASE("checkpoint verify prints ok, or names the first bad file and ends with 4", "[process]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  Outcome outcome = run_checkpoint(folder, "verify " + checkpoint);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, Catch::StartsWith("ok: step 3, 3 files"));
  CHECK(outcome.err.empty());

  std::ofstream(checkpoint + "/config.json") << "[]";
  outcome = run_checkpoint(folder, "verify " + checkpoint);
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.out == "bad: config.json\n");
  CHECK_THAT(outcome.err, Catch::Contains(checkpoint + "/config.json"));

  outcome = run_checkpoint(folder, "verify " + folder.path());
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.err, Catch::Contains("name one of the checkpoints in it: " + checkpoint));
  for (const char* end : {"9", "9/"}) {
    const Outcome gone = run_checkpoint(folder, "verify " + checkpoint + end);
    CHECK(gone.exit_code == 4);
    CHECK_THAT(gone.err, Catch::Contains("name one of the checkpoints beside it: " + checkpoint));
  }
  CHECK(run_checkpoint(folder, "verify " + folder / "nowhere").exit_code == 4);
}

TEST_CASE("checkpoint inspect prints text and JSON", "[process]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  CHECK_THAT(run_checkpoint(folder, "inspect " + checkpoint).out,
             Catch::Contains("  w  F32  [2]  model.safetensors\n"));
  const Outcome outcome = run_checkpoint(folder, "inspect --json " + checkpoint);
  CHECK(outcome.exit_code == 0);
  const Json value = Json::parse(outcome.out);
  CHECK(value.at("schema") == 1);
  CHECK(value.at("step") == 3);
  CHECK(value.at("weights").at("tensors").at(0).at("dtype") == "F32");
}

TEST_CASE("checkpoint export writes a plain folder and refuses a full one", "[process]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = make_checkpoint(folder.path());
  CHECK(run_checkpoint(folder, "export " + checkpoint + ' ' + folder / "plain" + " --max-shard-size 1MB")
            .exit_code == 0);
  CHECK(storage::ModelWeights(folder / "plain").at("w").bytes == "12345678");
  CHECK_FALSE(path_exists(folder / "plain/trainer_state.json"));
  CHECK_FALSE(path_exists(folder / "plain/manifest.json"));
  const Outcome again = run_checkpoint(folder, "export " + checkpoint + ' ' + folder / "plain");
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, Catch::Contains("not empty"));
}

TEST_CASE("checkpoint export of DeepSpeed's parts has frozen parameters, and none of an adapter",
          "[process]") {
  const TemporaryDirectory folder;
  const std::string checkpoint = folder / "saved";
  std::filesystem::copy(testing::source_dir() + "/tests/golden/interchange/deepspeed/several3_parts",
                        checkpoint, std::filesystem::copy_options::recursive);
  std::filesystem::remove(checkpoint + "/model.safetensors");
  std::ofstream(checkpoint + "/config.json") << "{}";
  CHECK(run_checkpoint(folder, "export " + checkpoint + ' ' + folder / "plain").exit_code == 0);
  const storage::ModelWeights weights(folder / "plain");
  CHECK(weights.find("embed.weight") != nullptr);
  REQUIRE(weights.find("fixed.weight") != nullptr);
  CHECK(weights.at("fixed.weight").entry.shape == std::vector<int64_t>{4, 4});
  std::ofstream(checkpoint + "/adapter_model.safetensors") << "one";
  const Outcome adapter = run_checkpoint(folder, "export " + checkpoint + ' ' + folder / "half");
  CHECK(adapter.exit_code == 4);
  CHECK_THAT(adapter.err, Catch::Contains("the folder holds an adapter and no model"));
}

TEST_CASE("checkpoint refuses what it does not understand", "[process]") {
  const TemporaryDirectory folder;
  for (const char* arguments :
       {"", "check x", "verify", "verify a b", "verify a --json", "export a",
        "export a b --max_shard_size 5GiB", "export a b --max_shard_size", "inspect a --jsonl"}) {
    INFO(arguments);
    const Outcome outcome = run_checkpoint(folder, arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_FALSE(outcome.err.empty());
  }
  const std::string help = run_checkpoint(folder, "--help").out;
  CHECK_THAT(help, Catch::StartsWith("usage: hftrain checkpoint verify DIR"));
  // A line for each action in the order of the usage, and the options of several behind them.
  size_t last = 0;
  for (const char* begins : {"\nverify   ", "\ninspect  ", "\nexport   ", "\nmerge    ",
                             "\n--max_shard_size ", "\n--model_name_or_path "}) {
    INFO(begins);
    const size_t found = help.find(begins);
    REQUIRE(found != std::string::npos);
    CHECK(found > last);
    last = found;
  }
}

TEST_CASE("an export that a signal stops leaves nothing of what it wrote", "[process]") {
  const TemporaryDirectory folder;
  constexpr int64_t kNumbers = int64_t{64} << 20;  // takes long enough to be stopped
  std::filesystem::create_directories(folder / "model");
  std::ofstream(folder / "model/config.json") << "{}";
  const std::string bytes = std::to_string(4 * kNumbers);
  std::string header = R"({"w":{"dtype":"F32","shape":[)" + std::to_string(kNumbers) +
                       R"(],"data_offsets":[0,)" + bytes + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<uint64_t>(header.size());
  std::ofstream(folder / "model/model.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char*>(&length), sizeof length)
      .write(header.data(), static_cast<std::streamsize>(header.size()));
  std::filesystem::resize_file(folder / "model/model.safetensors", 8 + length + 4 * kNumbers);
  const auto writes = [&] {
    for (const auto& item : std::filesystem::directory_iterator(folder.path())) {
      if (item.path().filename().string().starts_with("out.tmp-")) return true;
    }
    return false;
  };
  for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
    testing::Program program({kProgram, "checkpoint", "export", folder / "model", folder / "out"});
    REQUIRE(program.wait_until(writes));
    program.child().send(signal);
    CHECK(program.finish() == code);
    CHECK_THAT(program.err(), Catch::Contains("where: writing " + folder / "out"));
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
}

}  // namespace
}  // namespace hftrain::app
