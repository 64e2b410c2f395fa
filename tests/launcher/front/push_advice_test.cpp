#include "launcher/front/push_advice.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

void add_file(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << 'x';
}

HubTarget made_repository() {
  HubTarget target;
  target.asked = "out";
  target.repository = "me/out";
  target.revision = "main";
  return target;
}

const std::string kStaying = " --exclude 'checkpoint-*' --exclude 'hftrain/*' --exclude '_*' --exclude '.*'";
const std::string kReplaced =
    " --delete model.safetensors --delete model.safetensors.index.json --delete "
    "'model-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].safetensors' --delete adapter_config.json "
    "--delete adapter_model.safetensors --delete adapter_model.bin";
const std::string kState =
    " --exclude trainer_state.json --exclude hftrain_state.json --exclude manifest.json --exclude "
    "optimizer.pt --exclude scheduler.pt --exclude scaler.pt --exclude 'rng_state*' --exclude '*/*'";

}  // namespace

TEST_CASE("a command for an output folder takes older models away beside a whole one alone", "[front]") {
  const testing::TemporaryDirectory folder;
  const std::string out = folder / "out";
  add_file(out + "/adapter_model.safetensors");
  CHECK(command_for_output(made_repository(), out) == "hf upload me/out " + out + kStaying);
  add_file(out + "/model.safetensors");
  CHECK(command_for_output(made_repository(), out) == "hf upload me/out " + out + kStaying + kReplaced);
}

TEST_CASE("a command for a checkpoint's model sends what lies beside it first", "[front]") {
  const testing::TemporaryDirectory folder;
  const std::string out = folder / "out", checkpoint = out + "/checkpoint-2";
  add_file(checkpoint + "/model.safetensors");
  const std::string model = "hf upload me/out " + checkpoint + kState + kReplaced;
  CHECK(command_for_model(made_repository(), out, checkpoint) == model);
  add_file(out + "/a[1].safetensors");
  CHECK(command_for_model(made_repository(), out, checkpoint) == model);
  add_file(out + "/notes.txt");
  CHECK(command_for_model(made_repository(), out, checkpoint) ==
        "hf upload me/out " + out + kStaying + " --exclude 'a[[]1].safetensors' && " + model);
}

TEST_CASE("a folder with the letters of patterns in its name is one that hf is started in", "[front]") {
  const testing::TemporaryDirectory folder;
  const std::string out = folder / "a[1]'s";
  add_file(out + "/checkpoint-2/model.safetensors");
  const std::string there = "(cd '" + (folder / "a[1]'\\''s/checkpoint-2") + "' && hf upload me/out .";
  CHECK(command_for_checkpoint(made_repository(), out + "/checkpoint-2", "last-checkpoint") ==
        there + " last-checkpoint --delete '*')");
  CHECK(command_for_model(made_repository(), out, out + "/checkpoint-2") == there + kState + kReplaced + ')');
}

}  // namespace hftrain::front
