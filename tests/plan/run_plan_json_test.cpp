#include <map>
#include <regex>
#include <set>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/run_plan.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::plan {
namespace {

RunPlan sample_plan() {
  RunPlan plan;
  plan.output_dir = "/runs/a";
  plan.optimizer.learning_rate = 0.1 + 0.2;  // no short decimal form
  plan.seed = 18446744073709551615ull;
  plan.ranks.ranks = {{0, 0, 0, DeviceKind::kCuda, 1, "GPU", "GPU-1", 4},
                      {1, 1, 0, DeviceKind::kCpu, -1, "cpu", "", 2}};
  plan.strategy.units = {{"model", {0, 1}, false}};
  plan.data.train = SplitPlan{"/cache/x", 10, 1000, true};
  plan.plugin = PluginPlan{"patience", "/p/patience.so", "12ab"};
  plan.data.stream = data::StreamSpec{.files = {{"/data/a.csv", data::RowFormat::kCsv, 7, -3}},
                                      .recipe = {{"whole_words", true}},
                                      .read = {.file = "/data/a.csv", .names = {"body"}},
                                      .max_samples = 9,
                                      .identity = "stream-1"};
  plan.model.grown = {{"wte.weight", {100, 8}, GrowthKind::kTokens}};
  plan.model.adapter = AdapterPlan{};
  plan.precision.tf32 = false;
  plan.saving.total_limit = 2;
  plan.optimizer.options = {{"weight_decay", "0.1"}};
  plan.schedule.options = {{"num_cycles", 0.5}};
  plan.model.config = {{"model_type", "gpt2"}, {"eos_token_id", {1, 2}}};
  return plan;
}

TEST_CASE("a plan survives being written and read") {
  const RunPlan plan = sample_plan();
  const std::string text = dump_json(to_json_value(plan));
  const RunPlan copy = run_plan_from_json(parse_json(text, "plan.json"), "plan.json");
  CHECK(dump_json(to_json_value(copy)) == text);
  CHECK(copy.optimizer.learning_rate == plan.optimizer.learning_rate);
  CHECK(copy.seed == plan.seed);
  CHECK(copy.ranks.ranks[0].device == DeviceKind::kCuda);
  CHECK(copy.precision.tf32 == false);
  CHECK(copy.data.validation == std::nullopt);
  CHECK(copy.data.train->samples == 10);
  CHECK(copy.data.stream->files.front().format == data::RowFormat::kCsv);
  CHECK(copy.data.stream->files.front().modified_ns == -3);
  CHECK(copy.data.stream->max_samples == 9);
  CHECK(copy.saving.total_limit == 2);
  CHECK(copy.plugin->path == "/p/patience.so");
  CHECK(plan_hash(copy) == plan_hash(plan));
}

TEST_CASE("the hash sees every decision but not the free disk space") {
  RunPlan plan = sample_plan();
  const std::string hash = plan_hash(plan);
  plan.disk.free_bytes += 1;
  CHECK(plan_hash(plan) == hash);
  plan.batch.accumulation_steps += 1;
  CHECK(plan_hash(plan) != hash);
}

TEST_CASE("a file that is not a plan is an internal error with its name") {
  const auto code_of = [](const Json& value) {
    try {
      run_plan_from_json(value, "plan.json");
    } catch (const Error& error) {
      CHECK(error.diagnostics()[0].where == "plan.json");
      return error.code();
    }
    return ExitCode::kDone;
  };
  CHECK(code_of(Json::array()) == ExitCode::kInternal);
  Json missing = to_json_value(sample_plan());
  missing.erase("batch");
  CHECK(code_of(missing) == ExitCode::kInternal);
  Json newer = to_json_value(sample_plan());
  newer["schema"] = 99;
  CHECK(code_of(newer) == ExitCode::kInternal);
}

// The members of every struct in a header, read from its text.
std::map<std::string, std::set<std::string>> members_in_header(const std::string& header) {
  std::string text = read_file(testing::source_dir() + "/lib/hftrain/" + header);
  text = std::regex_replace(text, std::regex("//[^\n]*"), "");
  text = std::regex_replace(text, std::regex(R"(= \{[^{}]*\})"), "");  // lists to begin with
  text = std::regex_replace(text, std::regex(R"([^;{}()]*\([^()]*\) const \{(?:[^{}]|\{[^{}]*\})*\})"),
                            "");  // functions
  text = std::regex_replace(text, std::regex(R"([^;{}()]*\([^()]*\) const;)"), "");
  std::map<std::string, std::set<std::string>> members;
  const std::regex struct_pattern("struct (\\w+) \\{([^}]*)\\};"), name_pattern("(\\w+)\\s*(=[^,;]*)?[,;]");
  for (std::sregex_iterator it(text.begin(), text.end(), struct_pattern), end; it != end; ++it) {
    const std::string body = std::regex_replace((*it)[2].str(), std::regex("<[^;]*>"), "");
    for (std::sregex_iterator name(body.begin(), body.end(), name_pattern); name != end; ++name) {
      members[(*it)[1]].insert((*name)[1]);
    }
  }
  return members;
}

std::set<std::string> keys(const Json& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
}

TEST_CASE("every member of every struct of the plan is written") {
  auto header = members_in_header("plan/run_plan.h"), of_stream = members_in_header("data/stream_spec.h");
  const Json plan = to_json_value(sample_plan());
  CHECK(of_stream.at("StreamSpec") == keys(plan["data"]["stream"]));
  CHECK(of_stream.at("FileStamp") == keys(plan["data"]["stream"]["files"][0]));
  CHECK(header.at("RunPlan") == keys(plan));
  CHECK(header.at("RankPlan") == keys(plan["ranks"]["ranks"][0]));
  CHECK(header.at("SplitPlan") == keys(plan["data"]["train"]));
  CHECK(header.at("AdapterPlan") == keys(plan["model"]["adapter"]));
  CHECK(header.at("FusedKernels") == keys(plan["model"]["fused_kernels"]));
  CHECK(header.at("ProfilePlan") == keys(plan["profile"]));
  CHECK(header.at("PluginPlan") == keys(plan["plugin"]));
  CHECK(header.at("GrownParameter") == keys(plan["model"]["grown"][0]));
  CHECK(header.at("IntervalPlan") == keys(plan["saving"]["interval"]));
  CHECK(header.at("UnitPlan") == keys(plan["strategy"]["units"][0]));
  CHECK(header.at("NvmePlan") == keys(plan["strategy"]["nvme"]));
  CHECK(header.at("LossScalePlan") == keys(plan["precision"]["loss_scale"]));
  const std::map<std::string, std::string> parts = {{"RanksPlan", "ranks"},
                                                    {"StrategyPlan", "strategy"},
                                                    {"ModelPlan", "model"},
                                                    {"PrecisionPlan", "precision"},
                                                    {"DataPlan", "data"},
                                                    {"BatchPlan", "batch"},
                                                    {"StepsPlan", "steps"},
                                                    {"OptimizerPlan", "optimizer"},
                                                    {"SchedulePlan", "schedule"},
                                                    {"LoggingPlan", "logging"},
                                                    {"EvaluationPlan", "evaluation"},
                                                    {"SavingPlan", "saving"},
                                                    {"MemoryPlan", "memory_per_rank"},
                                                    {"DiskPlan", "disk"}};
  for (const auto& [type, key] : parts) {
    INFO(type);
    CHECK(header.at(type) == keys(plan[key]));
  }
  CHECK(header.size() == parts.size() + 12);
}

}  // namespace
}  // namespace hftrain::plan
