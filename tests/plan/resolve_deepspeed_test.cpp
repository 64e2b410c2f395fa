// What only a DeepSpeed file says, in the plan.
#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

// A run of two CPU ranks with the DeepSpeed configuration {`keys`, stage 2}.
Case deepspeed_run(const std::string& keys, std::vector<std::string> flags = {},
                   Topology where = machine(0)) {
  flags.insert(flags.end(), {"--nproc_per_node", "2", "--deepspeed",
                             "{\"zero_optimization\": {\"stage\": 2}, " + keys + "}"});
  return Case(flags, std::move(where));
}

}  // namespace

TEST_CASE("train_batch_size gives what neither the file nor a flag gives") {
  const BatchPlan all = deepspeed_run("\"train_batch_size\": 24").plan().batch;
  CHECK(all.per_device_train == 12);
  CHECK(all.accumulation_steps == 1);
  CHECK(all.global_train == 24);
  const BatchPlan micro =
      deepspeed_run("\"train_batch_size\": 24, \"train_micro_batch_size_per_gpu\": 3").plan().batch;
  CHECK(micro.per_device_train == 3);
  CHECK(micro.accumulation_steps == 4);
  const BatchPlan steps =
      deepspeed_run("\"train_batch_size\": 24, \"gradient_accumulation_steps\": 2").plan().batch;
  CHECK(steps.per_device_train == 6);
  const BatchPlan flags =
      deepspeed_run("\"train_batch_size\": 24", {"--per_device_train_batch_size", "4"}).plan().batch;
  CHECK(flags.accumulation_steps == 3);
}

TEST_CASE("a momentum of OneCycle that decays past 1 before the last update is refused") {
  const auto decaying = [](const std::string& rate, const std::string& steps) {
    const std::string params =
        R"("cycle_min_lr": 1e-5, "cycle_max_lr": 1e-3, "cycle_first_step_size": 5, "decay_step_size": 1,)";
    return deepspeed_run(R"("scheduler": {"type": "OneCycle", "params": {)" + params +
                             " \"decay_mom_rate\": " + rate + "}}",
                         {"--max_steps", steps})
        .error();
  };
  const Error error = decaying("0.1", "30");
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "decay_mom_rate x 19 / decay_step_size"));
  CHECK(contains(error.render(), "a smaller decay_mom_rate"));
  CHECK(decaying("0.001", "30").code() == ExitCode::kDone);
  CHECK(decaying("0.1", "11").code() == ExitCode::kDone);  // the cycle is not over before the last update
}

TEST_CASE("D2: a train_batch_size that the ranks cannot make is refused with the numbers") {
  const Error error = deepspeed_run(
                          "\"train_batch_size\": 24, \"train_micro_batch_size_per_gpu\": 5, "
                          "\"gradient_accumulation_steps\": 2")
                          .error();
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "24 against 5 x 2 x 2 = 20"));
  CHECK(contains(deepspeed_run("\"train_batch_size\": 25").error().render(), "25 against 12 x 1 x 2 = 24"));
  CHECK(contains(deepspeed_run("\"train_batch_size\": 24, \"train_micro_batch_size_per_gpu\": \"auto\", "
                               "\"gradient_accumulation_steps\": \"auto\"")
                     .error()
                     .render(),
                 "24 against 8 x 1 x 2 = 16"));
}

TEST_CASE("the lengths of a scheduler section are those of the run") {
  const std::string keys =
      "\"scheduler\": {\"type\": \"WarmupDecayLR\", \"params\": {\"total_num_steps\": 50, "
      "\"warmup_num_steps\": 5}}";
  const RunPlan plan = deepspeed_run(keys, {"--max_steps", "50"}).plan();
  CHECK(plan.schedule.name == "WarmupDecayLR");
  CHECK(plan.schedule.warmup_steps == 5);
  CHECK(deepspeed_run(keys, {"--max_steps", "50", "--warmup_steps", "0.1"}).plan().schedule.warmup_steps ==
        5);
  CHECK(contains(deepspeed_run(keys, {"--num_train_epochs", "1"}).error().render(),
                 "total_num_steps and the run differ\n  where: --deepspeed\n  why: 50 against 63 updates"));
  CHECK(contains(deepspeed_run(keys, {"--max_steps", "50", "--warmup_steps", "0.2"}).error().render(),
                 "warmup_num_steps and the run differ"));
}

TEST_CASE("the fp16 section says how the loss scale moves") {
  const auto scale = [](const std::string& keys) {
    return deepspeed_run("\"fp16\": {\"enabled\": true" + keys + "}", {}, machine(2))
        .plan()
        .precision.loss_scale;
  };
  const LossScalePlan defaults = scale("");
  CHECK(defaults.dynamic);
  CHECK(defaults.initial == 65536);
  CHECK(defaults.growth_interval == 1000);
  CHECK(defaults.hysteresis == 2);
  CHECK(defaults.minimum == 1);
  const LossScalePlan other = scale(
      ", \"initial_scale_power\": 12, \"loss_scale_window\": 500, \"hysteresis\": 3, "
      "\"consecutive_hysteresis\": true, \"min_loss_scale\": 4");
  CHECK(other.initial == 4096);
  CHECK(other.growth_interval == 500);
  CHECK(other.hysteresis == 3);
  CHECK(other.refill);
  CHECK(other.minimum == 4);
  const LossScalePlan fixed = scale(", \"loss_scale\": 128");
  CHECK_FALSE(fixed.dynamic);
  CHECK(fixed.initial == 128);
  CHECK(Case({"--fp16"}, machine(1)).plan().precision.loss_scale.growth_interval == 2000);
}

TEST_CASE("with an optimizer section norms and biases decay, too, and the plan says so") {
  const auto decays = [](const std::string& keys, std::vector<std::string> flags = {}) {
    const OptimizerPlan plan = deepspeed_run(keys, std::move(flags)).plan().optimizer;
    return plan.weight_decays();
  };
  const std::string section = R"("optimizer": {"type": "AdamW", "params": {"weight_decay": 0.5}})";
  CHECK(decays(section) == std::vector<double>{0.5, 0.5});
  CHECK(decays(R"("gradient_clipping": 1)", {"--weight_decay", "0.5"}) == std::vector<double>{0.5, 0});
  const RunPlan plan = deepspeed_run(section).plan();
  CHECK(contains(describe_plan(plan, machine(0), {}), "weight decay 0.5 (norms and biases, too), "));
}

TEST_CASE("an automatic persistence threshold is ten times the hidden size") {
  const std::string stage3 =
      "\"zero_optimization\": {\"stage\": 3, "
      "\"stage3_param_persistence_threshold\": ";
  const auto limit = [&](const std::string& value) {
    return Case({"--deepspeed", "{" + stage3 + value + "}}"}).plan().strategy.full_parameter_limit;
  };
  CHECK(limit("\"auto\"") == 80);
  CHECK(limit("500") == 500);
  CHECK(limit("1e3") == 1000);
  CHECK(deepspeed_run("\"train_batch_size\": 24").plan().strategy.full_parameter_limit == 0);
}

}  // namespace hftrain::plan
