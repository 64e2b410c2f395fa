#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

TEST_CASE("runs whose state the Trainer has no form for cannot save for it") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--save_only_model"}, "they hold no optimizer's state"},
      {{"--optim", "sgd"}, "this run's optimizer is sgd"},
      {{"--optim", "adafactor"}, "this run's optimizer is adafactor"},
      {{"--lr_scheduler_type", "greedy", "--eval_strategy", "steps"}, "which greedy is not"},
      {{"--fsdp", "full_shard", "--fsdp_state_dict_type", "SHARDED_STATE_DICT"},
       "their weights are in parts"}};
  for (auto [flags, why] : cases) {
    INFO(why);
    CHECK(Case(flags).error().code() == ExitCode::kDone);
    flags.emplace_back("--save_for_trainer");
    const Error error = Case(flags).error();
    CHECK(error.code() == ExitCode::kUsage);
    const Diagnostic& said = error.diagnostics().front();
    CHECK(contains(said.why, why));
    CHECK(contains(said.where, "save_for_trainer"));
    CHECK(contains(said.hint, "leave --save_for_trainer out"));
  }
}

TEST_CASE("AdamW with a schedule by steps saves for the Trainer, whole and in shards") {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{},
                                             {"--optim", "adamw_torch"},
                                             {"--lr_scheduler_type", "warmup_stable_decay",
                                              "--lr_scheduler_kwargs", R"({"num_decay_steps": 3})"},
                                             {"--fsdp", "full_shard"}}) {
    std::vector<std::string> all = flags;
    all.emplace_back("--save_for_trainer");
    CHECK(Case(all).plan().saving.for_trainer);
  }
}

}  // namespace
}  // namespace hftrain::plan
