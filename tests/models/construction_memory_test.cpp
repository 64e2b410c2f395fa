// A model that is divided is never whole on any rank, not even while it is made.
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdlib>

#include "comm/rank_processes.h"
#include "hftrain/models/model.h"
#include "hftrain/parallel/sharded_strategy.h"
#include "hftrain/plan/units.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

using testing::Rank;
using testing::RankBody;

// Counts what tensors hold, touched or not.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    struct Block {
      CountingAllocator* owner;
      void* memory;
      size_t bytes;
    };
    auto* block = new Block{this, std::calloc(std::max<size_t>(bytes, 1), 1), bytes};
    now_ += bytes;
    peak_ = std::max(peak_.load(), now_.load());
    return {block->memory, block,
            [](void* context) {
              const auto* held = static_cast<Block*>(context);
              held->owner->now_ -= held->bytes;
              std::free(held->memory);
              delete held;
            },
            at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }
  size_t peak() const { return peak_; }

 private:
  std::atomic<size_t> now_ = 0, peak_ = 0;
};

// 1.24 billion numbers.
Json billion_config() {
  return {{"model_type", "llama"},
          {"vocab_size", 128256},
          {"hidden_size", 2048},
          {"intermediate_size", 8192},
          {"num_hidden_layers", 16},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"tie_word_embeddings", true},
          {"max_position_embeddings", 131072},
          {"architectures", Json::array({"LlamaForCausalLM"})}};
}

const RankBody kBillion("a billion numbers are made", [](const Rank& rank) {
  const auto communicator = rank.connect();
  static CountingAllocator counting;
  c10::SetCPUAllocator(&counting, /*priority=*/255);
  const auto architecture = architectures::Architecture::from_config(billion_config(), "the test");
  const auto model = build_model(architecture, {.parameter_dtype = at::kBFloat16, .allocated = false});
  CHECK(counting.peak() == 0);
  parallel::ParameterList list{{}, {0.0}};
  int64_t numbers = 0;
  for (size_t i = 0; i < model->parameters().size(); ++i) {
    numbers += model->parameters()[i].numel();
    list.parameters.push_back({model->parameter_names()[i], model->parameters()[i], 0});
  }
  plan::StrategyPlan plan;
  plan.stage = 3;
  plan.mesh_shard = rank.world_size();
  plan.units = plan::make_units(architecture->parameters(),
                                {.policy = plan::WrapPolicy::kTransformer, .reshard = true});
  const parallel::ShardedStrategy strategy(plan, list, model->units(), at::kBFloat16, {}, *communicator,
                                           nullptr);
  const double shards = 2.0 * static_cast<double>(numbers) / rank.world_size();
  CHECK(numbers > 1'200'000'000);
  CHECK(static_cast<double>(counting.peak()) >= shards);
  CHECK(static_cast<double>(counting.peak()) <= 1.1 * shards);
});

}  // namespace

TEST_CASE("a rank of a divided model of a billion numbers never holds more than its shards", "[process]") {
  require_success(testing::run_ranks("a billion numbers are made", 4, {}, "shm"));
}

}  // namespace hftrain::models
