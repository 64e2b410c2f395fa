// The output folder and the checkpoint that a run goes on from, before the run begins.
#include "launcher/front/output_stage.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/data/column_writer.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

using testing::TemporaryDirectory;

// As transformers' Trainer saves it with save_on_each_node: the node's main process, and its own clock.
std::string trainers_checkpoint(const std::string& folder, bool first_node, const char* loss) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/trainer_state.json")
      << R"({"global_step": 4, "is_local_process_zero": true, "is_world_process_zero": )"
      << (first_node ? "true" : "false") << R"(, "log_history": [{"step": 2, "learning_rate": 1e-4, "loss": )"
      << loss << R"(}, {"step": 4, "eval_loss": 2.5, "eval_runtime": )" << (first_node ? "0.25" : "0.31")
      << "}]}";
  return folder;
}

// As the preparation leaves a split of image classification: of images in files, or in the rows themselves.
void prepare_images(const std::string& prefix, const std::vector<std::string>& paths, bool in_rows) {
  data::ColumnWriter names(prefix + ".image", data::FeatureType::kByte, 0);
  data::ColumnWriter bytes(prefix + ".image_bytes", data::FeatureType::kByte, 0);
  for (const std::string& path : paths) {
    names.add(std::vector<int32_t>(path.begin(), path.end()));
    bytes.add(std::vector<int32_t>(in_rows ? 3 : 0, 7));
  }
  names.finish();
  bytes.finish();
}

}  // namespace

TEST_CASE(
    "a checkpoint of the Trainer's is the same on every node that it was saved on, another run's is not") {
  const TemporaryDirectory folder;
  const CheckpointMark first = checkpoint_mark(trainers_checkpoint(folder / "first", true, "2.25"));
  CHECK(first.step == 4);
  CHECK_FALSE(first.files.empty());
  CHECK(checkpoint_mark(trainers_checkpoint(folder / "second", false, "2.25")) == first);
  const CheckpointMark other = checkpoint_mark(trainers_checkpoint(folder / "other", false, "2.26"));
  CHECK(other.step == 4);
  CHECK_FALSE(other == first);
  CHECK(checkpoint_mark(folder / "missing") == CheckpointMark{});
}

TEST_CASE("a checkpoint in the folder that is moved aside is refused, by whatever links it is named") {
  const TemporaryDirectory folder;
  const std::string output = folder / "runs/out",
                    checkpoint = trainers_checkpoint(output + "/checkpoint-4", true, "1");
  std::filesystem::create_directory_symlink(folder / "runs", folder / "link");
  std::filesystem::create_directory_symlink(checkpoint, folder / "best");
  std::filesystem::create_directory_symlink(output, folder / "runs/alias");
  Inputs inputs;
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  plan::RunPlan plan;
  plan.do_train = true;
  const auto decide = [&](const std::string& output_dir, const std::string& named) {
    inputs.output_dir = output_dir;
    inputs.parsed.arguments.saving.resume_from_checkpoint = named;
    return decide_resume(inputs, plan);
  };
  for (const std::string& named :
       {checkpoint, output + "/../out/checkpoint-4/", folder / "link/out/checkpoint-4", folder / "best",
        folder / "runs/alias/checkpoint-4"}) {
    INFO(named);
    CHECK_REFUSED(decide(output, named), "lies in the folder that is moved aside");
  }
  CHECK_REFUSED(decide(folder / "link/out", checkpoint), "lies in the folder that is moved aside");
  // Of a link, what it leads to is moved, by whichever name it is read.
  std::filesystem::create_directory_symlink(folder / "runs/alias", folder / "latest");
  std::filesystem::create_directory_symlink(folder / "kept", output + "/kept");
  trainers_checkpoint(folder / "kept/checkpoint-4", true, "1");
  CHECK_REFUSED(decide(folder / "runs/alias", folder / "latest/checkpoint-4"),
                "lies in the folder that is moved aside");
  CHECK_REFUSED(decide(output, output + "/kept/checkpoint-4"), "lies in the folder that is moved aside");
  CHECK_REFUSED(decide(folder / "runs/alias", checkpoint), "lies in the folder that is moved aside");
}

TEST_CASE("what is named to resume from and is a file, or cannot be looked at, is told as that") {
  const TemporaryDirectory folder;
  const std::string checkpoint = trainers_checkpoint(folder / "run/checkpoint-4", true, "1");
  std::filesystem::create_symlink("circle", folder / "circle");
  Inputs inputs;
  inputs.output_dir = folder / "out";
  plan::RunPlan plan;
  plan.do_train = true;
  const auto decide = [&](const std::string& named) {
    inputs.parsed.arguments.saving.resume_from_checkpoint = named;
    return decide_resume(inputs, plan);
  };
  CHECK_REFUSED(decide(checkpoint + "/trainer_state.json"), "name the folder that it lies in: " + checkpoint);
  CHECK_REFUSED(decide(folder / "circle"), "a path cannot be looked at");
}

TEST_CASE(
    "a checkpoint's adapter is that of the run in whatever order and under whichever names its modules "
    "stand") {
  using architectures::Architecture, architectures::Head;
  const TemporaryDirectory folder;
  const std::string checkpoint = trainers_checkpoint(folder / "other/checkpoint-4", true, "1");
  plan::RunPlan plan;
  plan.do_train = true;
  plan.data.task = tasks::Task::kImageClassification;
  plan.model.config =
      Architecture::from_scratch("vit", "num_hidden_layers=1", Head::kImageClassification)->config_json();
  const Json own = {{"r", 4},
                    {"lora_alpha", 8},
                    {"target_modules", {"fc1", "q_proj"}},
                    {"modules_to_save", {"classifier"}}};
  plan.model.adapter.emplace().config = own.dump();
  Inputs inputs;
  inputs.output_dir = folder / "out";
  inputs.parsed.arguments.saving.resume_from_checkpoint = checkpoint;
  const auto decide = [&](const char* key, const Json& value) {
    Json saved = own;
    saved[key] = value;
    std::ofstream(checkpoint + "/adapter_config.json") << saved;
    return decide_resume(inputs, plan).from;
  };
  CHECK(decide("target_modules", {"q_proj", "fc1"}) == checkpoint);
  CHECK(decide("target_modules", {"query", "intermediate.dense"}) == checkpoint);
  CHECK_REFUSED(decide("target_modules", {"value", "intermediate.dense"}), "adapter is not that of this run");
  CHECK_REFUSED(decide("target_modules", {"fc1"}), "adapter is not that of this run");
  CHECK_REFUSED(decide("target_modules", {"no_such"}), "adapter is not that of this run");
  CHECK_REFUSED(decide("lora_alpha", 9), "adapter is not that of this run");
}

TEST_CASE("what becomes of a model in the output folder is told, and of other files that they stay") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  plan::RunPlan plan;
  plan.do_train = true;
  const auto told = [&] {
    const std::vector<std::string> notices = decide_resume(inputs, plan).notices;
    REQUIRE(notices.size() == 1);
    return notices.front();
  };
  std::filesystem::create_directories(folder / "out");
  std::ofstream(folder / "out/notes.txt") << "mine";
  CHECK(told() == inputs.output_dir + " is not empty (notes.txt): new files go beside what is there");
  for (const char* weights :
       {"adapter_model.safetensors", "model.safetensors.index.json", "model.safetensors"}) {
    std::ofstream(inputs.output_dir + "/" + weights) << "of an earlier run";
    INFO(weights);
    CHECK(
        told().find("and the model there is replaced when this run saves its own (--overwrite_output_dir") !=
        std::string::npos);
    std::filesystem::remove(std::filesystem::path(inputs.output_dir) / weights);
  }
}

TEST_CASE("that a run begins anew although it was to go on is told") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  inputs.parsed.arguments.saving.resume_from_checkpoint = "true";
  plan::RunPlan plan;
  plan.do_train = true;
  CHECK(decide_resume(inputs, plan).notices.empty());
  std::filesystem::create_directories(folder / "out/checkpoint-4");
  std::ofstream(folder / "out/checkpoint-4/manifest.json") << "{}";
  const ResumeDecision decision = decide_resume(inputs, plan);
  CHECK(decision.from.empty());
  REQUIRE(decision.notices.size() == 1);
  CHECK_THAT(decision.notices.front(), Catch::Contains("--resume_from_checkpoint true takes none") &&
                                           Catch::Contains("--overwrite_output_dir begins anew"));
  inputs.parsed.arguments.saving.resume_from_checkpoint.reset();
  CHECK(decide_resume(inputs, plan).notices.empty());
}

TEST_CASE("what a run reads is not moved aside with the old one") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  std::filesystem::create_directories(folder / "out/model");
  std::ofstream(folder / "out/rows.jsonl") << "{}";
  std::ofstream(folder / "rows.jsonl") << "{}";
  std::filesystem::create_symlink(folder / "out/rows.jsonl", folder / "linked.jsonl");
  plan::RunPlan plan;
  plan.do_train = true;
  const auto refused = [&](const std::string& words) {
    INFO(words);
    CHECK_REFUSED(decide_resume(inputs, plan), "what the run reads lies in the folder that is moved aside");
    CHECK_REFUSED(decide_resume(inputs, plan), "where: " + words);
    OutputFolder output(inputs, [](const std::string&) {});
    CHECK_REFUSED(output.begin(), "where: " + words);
    inputs.model = {};
    inputs.files = {};
    inputs.plugin.reset();
    inputs.environment = Environment();
    CHECK(decide_resume(inputs, plan).from.empty());
  };
  inputs.model.source_folder = folder / "out";
  refused(folder / "out");
  inputs.model.adapter_folder = folder / "out/model";
  refused(folder / "out/model");
  inputs.model.tokenizer_folder = folder / "out/model";
  refused(folder / "out/model");
  inputs.plugin = plan::PluginPlan{"mine", folder / "out/mine.so", ""};
  refused(folder / "out/mine.so");
  inputs.files.train = {folder / "rows.jsonl", folder / "o*/rows.jsonl"};
  refused(folder / "out/rows.jsonl");
  inputs.files.validation = {folder / "linked.jsonl"};
  refused(folder / "linked.jsonl");
  inputs.files.test = {folder / "out/rows.jsonl"};
  refused(folder / "out/rows.jsonl");
  inputs.environment.set("HFTRAIN_CACHE", folder / "out/cache");
  refused(folder / "out/cache" + " (the token cache)");
  CHECK_FALSE(std::filesystem::exists(folder / "out.old-1"));

  inputs.environment.set("HFTRAIN_CACHE", folder / "cache");
  inputs.files.train = {folder / "rows.jsonl", folder / "none.jsonl"};
  CHECK(decide_resume(inputs, plan).from.empty());
  inputs.files.train = {folder / "out/rows.jsonl"};
  inputs.parsed.arguments.output.overwrite_output_dir = false;
  CHECK(decide_resume(inputs, plan).from.empty());
}

TEST_CASE(
    "what a run reads of the folder that is moved aside is told by the flag that was given, and by its "
    "place") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  arguments::Arguments& asked = inputs.parsed.arguments;
  arguments::Origins& origins = inputs.parsed.origins;
  asked.output.overwrite_output_dir = true;
  std::filesystem::create_directories(folder / "out");
  std::ofstream(folder / "out/rows.jsonl") << "{}";
  inputs.files.train = {folder / "out/rows.jsonl"};
  plan::RunPlan plan;
  plan.do_train = true;
  const auto told = [&](const std::string& words) {
    CHECK_REFUSED(decide_resume(inputs, plan), "where: " + folder / "out/rows.jsonl" + words + "\n");
  };
  told("");
  origins.set("train_file", "--train_file");
  told(" (--train_file)");
  origins.set("train_file", "run.yaml:3:7");
  told(" (train_file of run.yaml:3:7)");
  origins.set_filled_in("train_file", "train_dir");
  origins.set("train_dir", "--train_dir");
  told(" (--train_dir)");
  origins = {};
  asked.data.dataset_name = folder / "out";
  origins.set("dataset_name", "--dataset_name");
  told(" (--dataset_name)");
}

TEST_CASE("images that rows name are not moved aside with the old run") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  const std::string inside = folder / "out/pictures/a.png", outside = folder / "pictures/b.png";
  for (const std::string& image : {inside, outside}) {
    std::filesystem::create_directories(std::filesystem::path(image).parent_path());
    std::ofstream(image) << "x";
  }
  prepare_images(folder / "of_both", {outside, inside}, false);
  prepare_images(folder / "of_others", {outside, folder / "pictures/c.png"}, false);
  prepare_images(folder / "of_rows", {folder / "out/rows.parquet:1"}, true);
  {
    OutputFolder output(inputs, [](const std::string&) {});
    CHECK_REFUSED(output.begin({{"train", folder / "of_others"}, {"validation", folder / "of_both"}}),
                  "where: " + inside + " (an image of the data)");
  }
  CHECK_FALSE(std::filesystem::exists(folder / "out.old-1"));
  OutputFolder output(inputs, [](const std::string&) {});
  const std::map<std::string, std::string> prepared = {
      {"train", folder / "of_others"}, {"validation", folder / "of_rows"}, {"test", folder / "of_tokens"}};
  CHECK(output.begin(prepared) == std::vector<std::string>{"moved the old run to " + folder / "out.old-1"});
}

TEST_CASE("an old run that was moved aside comes back unless ranks begin") {
  const TemporaryDirectory folder;
  Inputs inputs;
  inputs.output_dir = folder / "out";
  inputs.parsed.arguments.output.overwrite_output_dir = true;
  std::filesystem::create_directory(inputs.output_dir);
  std::ofstream(inputs.output_dir + "/of_old") << "x";
  std::vector<std::string> told;
  const auto tell = [&](const std::string& line) { told.push_back(line); };
  const std::string aside = inputs.output_dir + ".old-1";
  {
    OutputFolder output(inputs, tell);
    CHECK(output.begin() == std::vector<std::string>{"moved the old run to " + aside});
    CHECK(std::filesystem::exists(aside + "/of_old"));
    std::ofstream(inputs.output_dir + "/hftrain/plan.json") << "{}";
  }
  CHECK(told == std::vector<std::string>{"no run began: moved the old run back to " + inputs.output_dir});
  CHECK(std::filesystem::exists(inputs.output_dir + "/of_old"));
  CHECK_FALSE(std::filesystem::exists(aside));
  {
    OutputFolder output(inputs, tell);
    output.begin();
    std::ofstream(inputs.output_dir + "/notes") << "x";  // somebody's
  }
  REQUIRE(told.size() == 2);
  CHECK(told.back().starts_with("no run began; the old run stays in " + aside));
  CHECK(std::filesystem::exists(aside + "/of_old"));
  {
    OutputFolder output(inputs, tell);
    output.begin();
    output.keep();
  }
  CHECK(told.size() == 2);
  CHECK(std::filesystem::exists(inputs.output_dir + ".old-2/notes"));
}

}  // namespace hftrain::front
