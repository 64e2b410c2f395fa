#include "hftrain/plan/step_moments.h"

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

// 400 numbers: 100 of the table of tokens, 100 of each of two blocks, of which one's norm stands behind it, 100 of the head.
architectures::ParameterTable of_two_blocks() {
  architectures::ParameterTable table;
  table.parameters = {{.name = "tokens", .shape = {100}, .unit = 0},
                      {.name = "first", .shape = {90}, .unit = 1},
                      {.name = "between", .shape = {10}, .unit = 2},
                      {.name = "second", .shape = {100}, .unit = 3},
                      {.name = "head", .shape = {100}, .unit = 4}};
  table.units = {{"embeddings"}, {"block.0", true}, {"norm"}, {"block.1", true}, {"head"}};
  return table;
}

RunPlan on_ranks(int ranks) {
  RunPlan plan;
  plan.ranks.world_size = ranks;
  return plan;
}

StepPeak peak_of(const StepActivations& step, const RunPlan& plan = on_ranks(1),
                 const architectures::ParameterTable& table = of_two_blocks(),
                 const StepState& state = {.gradients = 4000, .casts = 0}) {
  return step_peak(step, table, plan, state);
}

}  // namespace

TEST_CASE("gradients come as activations go: the most of a step is that of one of its moments") {
  // While the loss is computed; in the last block, whose gradients and the head's are there; in the first; at the end.
  CHECK(peak_of({.blocks = {{100, 10}, {100, 10}}, .ends = 5, .head = 9000}).at_once == 9205);
  CHECK(peak_of({.blocks = {{100, 10}, {100, 9000}}, .ends = 5}).at_once == 205 + 9000 + 2000);
  CHECK(peak_of({.blocks = {{100, 8000}, {100, 10}}, .ends = 5}).at_once == 105 + 8000 + 3000);
  CHECK(peak_of({.blocks = {{100, 10}, {100, 10}}, .ends = 5}).at_once == 5 + 4000);
  const StepPeak most = peak_of({.blocks = {{1000, 10}, {1000, 10}}, .ends = 5, .head = 70});
  CHECK(most.activations == 2075);
  CHECK(most.between == 0);
}

TEST_CASE("gradients that stay from one micro-batch to the next are beside all activations") {
  const StepActivations step{.blocks = {{1000, 10}, {1000, 10}}, .head = 9000};
  CHECK(peak_of(step).at_once == 11000);
  RunPlan accumulates = on_ranks(1);
  accumulates.batch.accumulation_steps = 2;
  CHECK(peak_of(step, accumulates).at_once == 11000 + 4000);
  CHECK(peak_of(step, accumulates).between == 0);
  CHECK(peak_of(step, on_ranks(2)).at_once == 11000 + 4000);  // in the buckets of DDP
  CHECK(peak_of(step, on_ranks(2)).between == 4000);
  RunPlan shards = on_ranks(2);
  shards.strategy.stage = 3;
  CHECK(peak_of(step, shards).at_once == 11000);
  CHECK(peak_of(step, shards).between == 0);
}

TEST_CASE("weights in the type of the forward pass go when backward has left them") {
  const StepActivations step{.blocks = {{100, 10}, {100, 10}}};
  const auto with = [&](int64_t gradients, int64_t casts) {
    return peak_of(step, on_ranks(1), of_two_blocks(), {.gradients = gradients, .casts = casts}).at_once;
  };
  CHECK(with(0, 2000) == 200 + 2000);            // while the loss is computed
  CHECK(with(4000, 2000) == 110 + 3000 + 1000);  // in the first
  CHECK(with(40000, 2000) == 40000);
}

TEST_CASE("a tied matrix has its gradient from the head on, and a second one at the end") {
  architectures::ParameterTable tied = of_two_blocks();
  tied.parameters.pop_back();
  tied.tied = {{"head", "tokens", 4}};
  const StepActivations step{.blocks = {{1000, 10}, {1000, 10}}};
  // 300 numbers of 10 bytes.
  CHECK(peak_of(step, on_ranks(1), tied, {.gradients = 3000}).at_once == 2010 + 2000);
  CHECK(peak_of({.blocks = {{1, 1}, {1, 1}}}, on_ranks(1), tied, {.gradients = 3000}).at_once == 4000);
  RunPlan frozen = on_ranks(1);
  frozen.model.frozen = {0};
  CHECK(peak_of({.blocks = {{1, 1}, {1, 1}}}, frozen, tied, {.gradients = 2000}).at_once == 2002);
}

TEST_CASE("the total of a GPU is what is there at once, and that of a host the sum of its parts") {
  const MemoryPlan host = Case().plan().memory_per_rank;
  CHECK(host.reused == 0);
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--bf16"}, {"--gradient_accumulation_steps", "2"}}) {
    const MemoryPlan gpu = Case(flags, machine(1)).plan().memory_per_rank;
    const int64_t parts = gpu.parameters + gpu.gradients + gpu.optimizer + gpu.activations + gpu.buffers;
    CHECK(gpu.total == parts - gpu.reused);
    CHECK(gpu.total >= gpu.parameters + gpu.gradients + gpu.optimizer);
    CHECK((gpu.reused > 0) == (flags.size() < 2));
  }
}

TEST_CASE("of every so many blocks one is computed again, and the others keep what they would") {
  const auto blocks = [](const std::vector<std::string>& flags) {
    Case run(flags, machine(1));
    run.model.architecture = architectures::Architecture::from_scratch(
        "gpt2", "n_layer=4,n_embd=8,n_head=2,vocab_size=100,n_positions=64");
    return run.plan().memory_per_rank.activations;
  };
  const int64_t all = blocks({}), each = blocks({"--gradient_checkpointing"});
  const int64_t second =
      blocks({"--gradient_checkpointing", "--gradient_checkpointing_kwargs", R"({"every_n_layers": 2})"});
  CHECK(each < second);
  CHECK(second < all);
}

}  // namespace hftrain::plan
