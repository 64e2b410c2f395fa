#include "launcher/front/trial_flags.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "hftrain/base/file.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

Json common(std::vector<std::string> words, const search::Space& space = {}) {
  words.insert(words.end(), {"--output_dir", "/out"});
  const auto add = [&](const char* flag, const char* value) {
    if (std::ranges::find(words, flag) == words.end()) words.insert(words.end(), {flag, value});
  };
  add("--model_name_or_path", "/in/model");
  if (std::ranges::find(words, "--train_dir") == words.end()) add("--train_file", "/in/t.txt");
  return common_flags(arguments::parse_arguments(words, {}), space);
}

// A process has one working folder; the test's own is back afterwards.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

TEST_CASE("the release whose rules trials go by is one of their flags", "[trial_flags]") {
  CHECK(common({"--hf_compat", "4.49.0"}).value("hf_compat", Json()) == "4.49.0");
  CHECK_FALSE(common({}).contains("hf_compat"));
}

TEST_CASE("a file of trials has one name in all folders, and files of two folders have two",
          "[trial_flags]") {
  const TemporaryDirectory folder;
  create_directories(folder / "a/model");
  create_directories(folder / "b");
  const std::vector<std::string> relative = {
      "--train_file",         "t.txt", "./more/../u*.txt", "--tokenizer_name", "gpt2",
      "--model_name_or_path", "model"};
  Json there, elsewhere;
  {
    const WorkingFolder a(folder / "a");
    there = common(relative);
    const std::string here = fs::current_path().string();
    CHECK(there["train_file"] == Json::array({here + "/t.txt", here + "/u*.txt"}));
    CHECK(common({"--task", "image-classification", "--train_dir", "images/"})["train_dir"] ==
          here + "/images");
    CHECK(there["tokenizer_name"] == "gpt2");
    CHECK(there["model_name_or_path"] == here + "/model");
    CHECK(common({"--train_file", here + "/t.txt"}) == common({"--train_file", "t.txt"}));
    // As an earlier version has recorded it.
    CHECK(compared_flags({{"train_file", {"t.txt"}}}) ==
          Json({{"train_file", Json::array({here + "/t.txt"})}}));
  }
  const WorkingFolder b(folder / "b");
  elsewhere = common(relative);
  CHECK(elsewhere["train_file"] != there["train_file"]);
  CHECK(elsewhere["tokenizer_name"] == "gpt2");
  CHECK(elsewhere["model_name_or_path"] == "model");
}

TEST_CASE("an edited file of a strategy is another flag of trials, but for its layout and what is free",
          "[trial_flags]") {
  const TemporaryDirectory folder;
  const std::string path = folder / "ds.json", fsdp = folder / "fsdp.json";
  const auto with = [&](const std::string& file, const char* flag, const std::string& text) {
    write_file_atomically(file, text);
    return common({"--fsdp", "full_shard", flag, file}).at(flag + 2);
  };
  const auto deepspeed = [&](const std::string& text) {
    write_file_atomically(path, text);
    return common({"--deepspeed", path}).at("deepspeed");
  };
  const Json begun = deepspeed(R"({"zero_optimization": {"stage": 1}})");
  CHECK(begun.get<std::string>().starts_with(path + " (content "));
  CHECK(deepspeed("{\"zero_optimization\":\n {\"stage\": 1}}") == begun);
  CHECK(compared_flags({{"deepspeed", begun}}) == Json({{"deepspeed", begun}}));
  // As an earlier version has recorded it.
  CHECK(compared_flags({{"deepspeed", path}}) == Json({{"deepspeed", begun}}));
  CHECK(deepspeed(R"({"zero_optimization": {"stage": 2}})") != begun);
  const Json sharded = with(fsdp, "--fsdp_config", R"({"min_num_params": 5})");
  CHECK(with(fsdp, "--fsdp_config", R"({"min_num_params": 5, "forward_prefetch": true})") == sharded);
  CHECK(with(fsdp, "--fsdp_config", R"({"min_num_params": 6})") != sharded);
}

TEST_CASE("what changes the speed of trials alone is none of their common flags", "[trial_flags]") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--dataloader_num_workers", "2"},
           {"--dataloader_persistent_workers", "true", "--dataloader_num_workers", "2"},
           {"--dataloader_multiprocessing_context", "fork"},
           {"--dataloader_in_order", "false"},
           {"--low_cpu_mem_usage"},
           {"--ddp_find_unused_parameters", "false"},
           {"--ddp_broadcast_buffers", "true"},
           {"--ddp_static_graph", "true"},
           {"--use_fsdp", "--fsdp_forward_prefetch", "true"},
           {"--use_fsdp", "--fsdp_backward_prefetch", "NO_PREFETCH"},
           {"--use_fsdp", "--fsdp_cpu_ram_efficient_loading", "false", "--fsdp_sync_module_states", "false"},
           {"--fsdp", "full_shard", "--fsdp_config",
            R"({"forward_prefetch": true, "backward_prefetch": "backward_post"})"},
           {"--gradient_checkpointing"},
           {"--eval_accumulation_steps", "4"}}) {
    INFO(words.front() << ' ' << words.back());
    std::vector<std::string> without;
    if (words.front() == "--use_fsdp") without = {"--use_fsdp"};
    if (words.front() == "--fsdp") without = {"--fsdp", "full_shard"};
    CHECK(common(words) == common(without));
  }
  CHECK(compared_flags({{"low_cpu_mem_usage", true}, {"max_steps", 4}}) == Json({{"max_steps", 4}}));
  CHECK(
      common({"--fsdp", "full_shard", "--fsdp_config", R"({"min_num_params": 5})"}).contains("fsdp_config"));
}

}  // namespace
}  // namespace hftrain::front
