// The most that a step holds at once, counted at the allocator through forward and backward, against the plan's moments.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>

#include <algorithm>
#include <memory>

#include "hftrain/models/model.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/nn/widened.h"
#include "hftrain/plan/budget_parts.h"
#include "support/catch.h"
#include "support/most_bytes.h"

namespace hftrain::models {
namespace {

constexpr int64_t kLength = 128;

// 0 blocks: none is computed again.
struct StepShape {
  int64_t rows = 1, recomputed = 0;
};

using Made = std::shared_ptr<const architectures::Architecture>;

int64_t counted(const Made& architecture, const StepShape& shape, at::ScalarType dtype) {
  ModelOptions options;
  options.compute_dtype = options.parameter_dtype = dtype;
  const auto model = build_model(architecture, options);
  model->initialise(at::detail::createCPUGenerator(1));
  Batch batch;
  batch.input_ids = batch.labels = at::randint(architecture->vocab_size(), {shape.rows, kLength}, at::kLong);
  if (architecture->has_encoder_and_decoder()) batch.decoder_input_ids = batch.labels;
  nn::UnitRunner all;
  nn::CheckpointingRunner again(all, std::max<int64_t>(shape.recomputed, 1));
  nn::UnitRunner& runner = shape.recomputed > 0 ? again : all;
  const auto step = [&] {
    model->forward(batch, runner, loss_objective(*architecture, batch, {})).loss.backward();
  };
  step();  // makes what all steps share
  for (const at::Tensor& parameter : model->parameters()) parameter.mutable_grad().reset();
  return testing::most_bytes(step);
}

// The plan's two figures for it.
struct Planned {
  int64_t moments = 0, together = 0;
};

Planned planned(const Made& architecture, const StepShape& shape, const char* dtype) {
  plan::RunPlan plan;
  plan.precision.compute = plan.model.master_dtype = dtype;
  plan.model.gradient_checkpointing = shape.recomputed > 0;
  plan.model.checkpoint_every_n_layers = shape.recomputed;
  plan.batch.per_device_train = shape.rows;
  plan.data.block_size = kLength;
  plan.ranks.ranks = {plan::RankPlan{}};
  const plan::StepActivations step = plan::step_activations(*architecture, plan, nn::widens_bfloat16());
  const auto& table = architecture->parameters();
  const int64_t gradients = table.count() * static_cast<int64_t>(sizeof(float));
  return {plan::step_peak(step, table, plan, {.gradients = gradients}).at_once,
          plan::activations_together(step) + gradients};
}

struct Trained {
  const char* family;
  const char* config;
  architectures::Head head = architectures::Head::kCausalLm;
};

// Six blocks of width 128 each.
constexpr Trained kTrained[] = {
    {"gpt2", "n_layer=6,n_embd=128,n_head=4,n_positions=128,resid_pdrop=0,embd_pdrop=0,attn_pdrop=0,"},
    {"gpt2", "n_layer=6,n_embd=128,n_head=4,n_positions=128,attn_pdrop=0,"},
    {"llama",
     "num_hidden_layers=6,hidden_size=128,intermediate_size=352,num_attention_heads=4,"
     "num_key_value_heads=1,max_position_embeddings=128,tie_word_embeddings=false,"},
    {"qwen3",
     "num_hidden_layers=6,hidden_size=128,head_dim=32,intermediate_size=352,num_attention_heads=4,"
     "num_key_value_heads=2,max_position_embeddings=128,tie_word_embeddings=true,"},
    {"bert",
     "num_hidden_layers=6,hidden_size=128,intermediate_size=512,num_attention_heads=4,"
     "max_position_embeddings=128,attention_probs_dropout_prob=0,",
     architectures::Head::kMaskedLm},
    {"bart",
     "encoder_layers=3,decoder_layers=3,d_model=128,encoder_attention_heads=4,"
     "decoder_attention_heads=4,encoder_ffn_dim=512,decoder_ffn_dim=512,"
     "max_position_embeddings=128,",
     architectures::Head::kSeq2SeqLm},
};

}  // namespace

TEST_CASE("a step holds at once what the plan's moments say") {
  at::set_num_threads(1);
  double sum = 0;
  int count = 0;
  for (const Trained& of : kTrained) {
    for (const char* vocabulary : {"200", "8000"}) {
      const Made architecture = architectures::Architecture::from_scratch(
          of.family, of.config + std::string("vocab_size=") + vocabulary, of.head);
      // Few tokens, so that gradients are most of it; as many as both; many; and blocks that are computed again.
      for (const StepShape& shape :
           {StepShape{1}, StepShape{4}, StepShape{16}, StepShape{16, 1}, StepShape{16, 2}}) {
        const auto most = static_cast<double>(counted(architecture, shape, at::kFloat));
        const Planned plan = planned(architecture, shape, "float32");
        const double ratio = static_cast<double>(plan.moments) / most;
        INFO(of.family << ", " << vocabulary << " tokens, " << shape.rows << " rows, " << shape.recomputed
                       << " computed again: " << ratio);
        CHECK(ratio > 0.94);
        CHECK(ratio < 1.13);
        CHECK(static_cast<double>(plan.together) > most);  // gradients beside all activations: too much
        sum += ratio;
        ++count;
      }
    }
  }
  CHECK(sum / count == Approx(1).epsilon(0.03));
}

}  // namespace hftrain::models
