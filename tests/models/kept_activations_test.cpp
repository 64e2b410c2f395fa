// What a forward pass leaves for the one back, counted at the allocator, against what the plan expects of a block.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <memory>

#include "hftrain/models/model.h"
#include "hftrain/nn/widened.h"
#include "hftrain/plan/resolve_parts.h"
#include "support/catch.h"

namespace hftrain::models {
namespace {

constexpr int64_t kRows = 2, kTarget = 48, kVocabulary = 100;

class HeldBytes final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*at*/, int64_t bytes, size_t /*used*/, size_t /*reserved*/,
                         c10::Device /*device*/) override {
    bytes_ += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// An encoder and a decoder whose weights, too, are bfloat16.
struct Case {
  const char* family;
  const char* layers;  // key of the decoder's
  const char* shape;
};
constexpr Case kBart = {"bart", "decoder_layers",
                        "d_model=32,encoder_layers=1,encoder_attention_heads=4,decoder_attention_heads=4,"
                        "encoder_ffn_dim=64,decoder_ffn_dim=64,max_position_embeddings=256,vocab_size=100,"};
constexpr Case kT5 = {"t5", "num_decoder_layers",
                      "d_model=32,num_layers=1,num_heads=4,d_kv=8,d_ff=64,vocab_size=100,"
                      "decoder_start_token_id=0,"};

std::shared_ptr<const architectures::Architecture> made(const Case& of, const std::string& dropout,
                                                        int layers) {
  return architectures::Architecture::from_scratch(
      of.family, of.shape + dropout + ',' + of.layers + '=' + std::to_string(layers),
      architectures::Head::kSeq2SeqLm);
}

int64_t held(const std::shared_ptr<const architectures::Architecture>& architecture, int64_t input) {
  ModelOptions options;
  options.compute_dtype = options.parameter_dtype = at::kBFloat16;
  const auto model = build_model(architecture, options);
  model->initialise(at::detail::createCPUGenerator(1));
  Batch batch;
  batch.input_ids = at::randint(kVocabulary, {kRows, input}, at::kLong);
  batch.decoder_input_ids = batch.labels = at::randint(kVocabulary, {kRows, kTarget}, at::kLong);
  nn::UnitRunner runner;
  model->forward(batch, runner, loss_objective(*architecture, batch, {}));  // makes what all passes share
  const auto counted = std::make_shared<HeldBytes>();
  Output output;
  {
    const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, counted);
    output = model->forward(batch, runner, loss_objective(*architecture, batch, {}));
  }
  return counted->bytes();
}

int64_t expected(const std::shared_ptr<const architectures::Architecture>& architecture, int64_t input) {
  plan::RunPlan plan;
  plan.precision.compute = plan.model.master_dtype = "bfloat16";
  plan.batch.per_device_train = kRows;
  plan.data.block_size = input;
  plan.data.target_size = kTarget;
  plan.ranks.ranks = {plan::RankPlan{}};
  return plan::estimate_memory(*architecture, plan, nn::widens_bfloat16()).activations;
}

// Of one more block of the decoder.
template <typename Bytes>
int64_t of_a_block(const Bytes& bytes, const Case& of, const std::string& dropout, int64_t input) {
  return bytes(made(of, dropout, 2), input) - bytes(made(of, dropout, 1), input);
}

}  // namespace

TEST_CASE("a decoder's block keeps of bfloat16 what the plan expects, of an encoder's tokens too") {
  at::set_num_threads(1);
  struct Row {
    const Case* of;
    const char* dropout;
  };
  for (const auto& [of, dropout] :
       {Row{&kBart, "dropout=0.0,attention_dropout=0.0"}, Row{&kBart, "dropout=0.0,attention_dropout=0.1"},
        Row{&kBart, "dropout=0.1,attention_dropout=0.1"}, Row{&kT5, "dropout_rate=0.0"},
        Row{&kT5, "dropout_rate=0.1"}}) {
    const int64_t few = of_a_block(held, *of, dropout, 64), many = of_a_block(held, *of, dropout, 192);
    const int64_t planned_few = of_a_block(expected, *of, dropout, 64),
                  planned_many = of_a_block(expected, *of, dropout, 192);
    INFO(of->family << ' ' << dropout << ": " << few << ' ' << planned_few << ", " << many << ' '
                    << planned_many);
    CHECK(static_cast<double>(many - few) ==
          Approx(static_cast<double>(planned_many - planned_few)).epsilon(0.03));
    CHECK(static_cast<double>(few) == Approx(static_cast<double>(planned_few)).epsilon(0.15));
  }
}

}  // namespace hftrain::models
