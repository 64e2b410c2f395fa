#include "hftrain/plan/rank_memory.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::plan {

TEST_CASE("state bytes are exact: parameters, gradients and two moments") {
  const RunPlan plan = Case().plan();
  const int64_t count = plan.model.parameters;
  CHECK(plan.memory_per_rank.parameters == 4 * count);
  CHECK(plan.memory_per_rank.gradients == 4 * count);
  CHECK(plan.memory_per_rank.optimizer == 8 * count);
  CHECK(plan.memory_per_rank.buffers == 0);
  CHECK(plan.memory_per_rank.activations > 8 * 64 * 100 * 4);  // more than the logits
  const RunPlan half = Case({"--bf16"}).plan();
  CHECK(half.memory_per_rank.optimizer == 8 * count);
  CHECK(half.memory_per_rank.buffers == 2 * count);
  CHECK(half.memory_per_rank.activations < plan.memory_per_rank.activations);
  CHECK(Case({"--gradient_checkpointing"}).plan().memory_per_rank.activations <
        plan.memory_per_rank.activations);
  CHECK(Case({"--do_eval"}).plan().memory_per_rank.optimizer == 0);
}

TEST_CASE("what certainly does not fit in memory is refused with the code of that memory") {
  Case host({"--nproc_per_node", "2"});
  host.topology.host.memory_limit_bytes = 30000;
  CHECK(host.error().code() == ExitCode::kHostMemory);
  Case device({}, machine(1));
  device.topology.visible.devices[0].device.total_bytes = 10000;
  CHECK(device.error().code() == ExitCode::kDeviceMemory);
}

TEST_CASE("an estimate beyond the free memory is a warning only") {
  Case tight;
  tight.topology.host.available_bytes = 1000;
  CHECK(contains(tight.notes(), "is expected to need"));
  CHECK_FALSE(contains(tight.notes(), "fewer ranks"));  // it is alone
  CHECK_FALSE(contains(Case().notes(), "is expected to need"));
}

TEST_CASE("what a rank takes of host memory beside its tensors is expected, too") {
  Case run({"--nproc_per_node", "2"});
  const int64_t tensors = run.plan().memory_per_rank.total;
  run.topology.host.available_bytes = 2 * (kWorkingProgramBytes + tensors);
  CHECK_FALSE(contains(run.notes(), "expected to need"));
  --run.topology.host.available_bytes;
  CHECK(contains(run.notes(), "a rank is expected to need"));
  Case gpus({}, machine(2));
  gpus.topology.host.available_bytes = 2 * kWorkingProgramBytes;
  CHECK_FALSE(contains(gpus.notes(), "expected to need"));
  --gpus.topology.host.available_bytes;
  CHECK(contains(gpus.notes(), "the ranks of a machine are expected to need"));
}

TEST_CASE(
    "what a rank takes of a GPU beside its tensors is expected, too, and is not part of the plan's total") {
  const auto beside = [](int ranks, const std::vector<std::string>& flags) {
    Case run(flags, machine(ranks));
    const RunPlan plan = run.plan();
    const int64_t program = expected_memory(plan).rank - plan.memory_per_rank.total;
    run.topology.visible.devices.front().device.free_bytes = expected_memory(plan).rank;
    CHECK_FALSE(contains(run.notes(), "expected to need"));
    --run.topology.visible.devices.front().device.free_bytes;
    CHECK(contains(run.notes(), "a rank is expected to need"));
    return program;
  };
  CHECK(beside(1, {}) == kDeviceProgramBytes);
  CHECK(beside(4, {}) == kDeviceProgramBytes + kDeviceGroupBytes);
  CHECK(beside(4, {"--fsdp", "full_shard"}) == kDeviceProgramBytes + kDeviceGroupBytes);
  const std::vector<std::string> hybrid{"--fsdp", "hybrid_shard", "--parallelism_config",
                                        R"({"dp_replicate_size": 2})"};
  CHECK(beside(4, hybrid) == kDeviceProgramBytes + 3 * kDeviceGroupBytes);
  CHECK(expected_memory(Case().plan()).rank == kWorkingProgramBytes + Case().plan().memory_per_rank.total);
}

TEST_CASE("disk need counts the kept checkpoints, the one in flight and the final model") {
  const RunPlan plan = Case({"--save_total_limit", "2", "--save_steps", "10"}).plan();
  const int64_t weights = 4 * plan.model.parameters, checkpoint = 3 * weights;
  CHECK(plan.disk.checkpoint_bytes == checkpoint);
  CHECK(plan.disk.checkpoints_kept == 3);
  CHECK(plan.disk.needed_bytes == 3 * checkpoint + weights);
  const RunPlan all = Case({"--save_steps", "100"}).plan();
  CHECK(all.disk.checkpoints_kept == -1);
  CHECK(all.steps.max_steps == 375);
  CHECK(all.disk.needed_bytes == 4 * checkpoint + weights);
  const RunPlan last = Case({"--save_steps", "0"}).plan();  // which the last update's alone is
  CHECK(last.saving.interval.recorded_steps() == 0);
  CHECK(last.disk.needed_bytes == checkpoint + weights);
  CHECK(Case({"--save_only_model"}).plan().disk.checkpoint_bytes == weights);
  CHECK(Case({"--save_for_trainer"}).plan().disk.checkpoint_bytes == 5 * weights);
  CHECK(Case({"--save_strategy", "no"}).plan().disk.needed_bytes == weights);
  CHECK(Case({"--save_total_limit", "0"}).plan().saving.total_limit == std::nullopt);
}

TEST_CASE("a disk without room for one checkpoint is refused, for all of them it is a warning") {
  const Case run({"--save_steps", "1"});
  ResolveInput input = run.input();
  input.free_bytes = 10;
  CHECK_REFUSED(resolve(input), "not one checkpoint fits on the disk");
  input.free_bytes = static_cast<uint64_t>(2 * run.plan().disk.checkpoint_bytes);
  std::string text;
  for (const Diagnostic& note : plan_notes(input, resolve(input))) text += note.render();
  CHECK(contains(text, "the checkpoints need"));
}

}  // namespace hftrain::plan
