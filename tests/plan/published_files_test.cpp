// Files as accelerate, TRL, the alignment-handbook and DeepSpeed's examples publish them: what each becomes,
// or in which words it is refused. docs/published_files.md is the table; the files under
// tests/published_files are ours and have the keys of those that a row names.
#include <filesystem>
#include <set>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::plan {
namespace {

namespace fs = std::filesystem;

// A row of the document: | files of the set | `our file flags` | what it becomes |
struct Published {
  std::string file;                // under tests/published_files
  std::vector<std::string> flags;  // behind it
  std::string becomes;  // of the plan on machines of 8 GPUs; behind "refused: " a part of the message
};

std::vector<Published> published_files() {
  std::vector<Published> rows;
  for (const std::string& line : split(read_file(testing::source_dir() + "/docs/published_files.md"), '\n')) {
    const std::vector<std::string> cells = split(line, '|');
    if (cells.size() != 5 || !trim(cells[2]).starts_with('`')) continue;
    const std::string command = trim(cells[2]);
    std::vector<std::string> words = split(command.substr(1, command.size() - 2), ' ');
    const std::string file = words.front();
    words.erase(words.begin());
    rows.push_back({file, words, trim(cells[3])});
  }
  return rows;
}

std::string folder() {
  return testing::source_dir() + "/tests/published_files/";
}

// Files name other files from the folder of the start.
struct WorkingFolder {
  explicit WorkingFolder(const fs::path& folder) : before(fs::current_path()) { fs::current_path(folder); }
  ~WorkingFolder() { fs::current_path(before); }
  fs::path before;
};

std::string describe_run(const RunPlan& plan) {
  const StrategyPlan& strategy = plan.strategy;
  std::string text = std::to_string(plan.ranks.world_size) +
                     (plan.ranks.ranks.front().device == DeviceKind::kCuda ? " GPU rank" : " CPU rank") +
                     (plan.ranks.world_size == 1 ? "" : "s") +
                     (plan.ranks.nodes == 1 ? "" : " of " + std::to_string(plan.ranks.nodes) + " machines") +
                     ", " + strategy.name + ", " + plan.precision.compute;
  if (strategy.offload_optimizer != "none") text += ", optimizer on " + strategy.offload_optimizer;
  if (strategy.offload_parameters != "none") text += ", parameters on " + strategy.offload_parameters;
  if (strategy.stage == 3) text += ", " + strategy.state_dict + " weights in checkpoints";
  if (plan.model.gradient_checkpointing) text += ", activations recomputed";
  if (plan.schedule.name != "linear") text += ", " + plan.schedule.name;
  return text;
}

// As --config or --deepspeed, on as many equal machines as the file names.
Case case_of(const Published& published) {
  const fs::path path = folder() + published.file;
  const WorkingFolder working(path.parent_path());
  std::vector<std::string> flags = {path.extension() == ".yaml" ? "--config" : "--deepspeed",
                                    path.filename().string()};
  flags.insert(flags.end(), published.flags.begin(), published.flags.end());
  const std::string text = read_file(path.string());
  const bool names_model = text.find("model_name_or_path:") != std::string::npos;
  Case run(names_model ? std::vector<std::string>() : flags, machine(8));
  if (names_model) {
    if (text.find("dataset_name:") == std::string::npos)
      flags.insert(flags.end(), {"--train_file", "a.jsonl"});
    run.parsed = arguments::parse_arguments(flags, run.environment);
    run.model.source_folder = "/models/small";
    run.model.architecture = architectures::Architecture::from_scratch(
        "gpt2", "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=1024");
  }
  if (run.parsed.arguments.launch.nnodes != "2") return run;
  AgentFacts agent;
  agent.machine = "0";
  agent.topology = run.topology;
  agent.nproc_per_node = run.parsed.arguments.launch.nproc_per_node;
  run.agents = like_this_one(agent, 2);
  return run;
}

std::string outcome(const Published& published) {
  try {
    return describe_run(case_of(published).plan());
  } catch (const Error& error) {
    return "refused: " + error.render();
  }
}

}  // namespace

TEST_CASE("published files become what their own tools make of them, or are refused by the key") {
  const std::string_view refused = "refused: ";
  for (const Published& published : published_files()) {
    INFO(published.file);
    const std::string found = outcome(published);
    if (published.becomes.starts_with(refused)) {
      CHECK(found.starts_with(refused));
      CHECK_THAT(found, Catch::Contains(published.becomes.substr(refused.size())));
    } else {
      CHECK(found == published.becomes);
    }
  }
}

TEST_CASE("docs/published_files.md has every file of tests/published_files") {
  std::set<std::string> rows, files;
  for (const Published& published : published_files()) rows.insert(published.file);
  for (const auto& file : fs::recursive_directory_iterator(folder())) {
    if (file.is_regular_file()) files.insert(fs::relative(file.path(), folder()).string());
  }
  CHECK(files.size() > 70);
  CHECK(rows == files);
}

}  // namespace hftrain::plan
