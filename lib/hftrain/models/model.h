// A trainable model: the maths of a family over the parameters of its architecture.
//
//   auto architecture = architectures::Architecture::from_config(json, "config.json");
//   auto model = models::build_model(architecture, {});
//   model->initialise(generator);                 // or copy_ into the tensors of parameters()
//   nn::UnitRunner runner;
//   models::Output out = model->forward(batch, runner, models::loss_objective(*architecture, batch, {}));
//   out.loss.backward();
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/models/batch.h"
#include "hftrain/models/key_value_cache.h"
#include "hftrain/models/objective.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/kernels.h"
#include "hftrain/nn/parameter.h"
#include "hftrain/nn/unit_runner.h"

namespace hftrain::models {

struct ModelOptions {
  at::ScalarType compute_dtype = at::kFloat;  // of the forward; float32, bfloat16 or float16
  // Of the leaves, and so of gradients and optimizer state; adapters always have float32.
  at::ScalarType parameter_dtype = at::kFloat;
  at::Device device = at::kCPU;
  nn::KernelChoice kernels;
  double neftune_alpha = 0;  // 0: off
  std::vector<int> frozen;   // positions of parameters that are not trained: leaves without grad
  // False: leaves have no memory until a strategy that divides them gives it (nn/without_memory.h), so that no rank ever
  // holds a whole model that does not fit.
  bool allocated = true;
};

// Owns its parameters: leaves that require grad unless they are frozen or buffers, in the order of the architecture's parameter table,
// cast to the compute dtype where they are used. One thread at a time; the backward may run on autograd's
// threads.
class Model {
 public:
  Model(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Runs every unit through `runner`; what the head's unit gives is the objective's. A sequence longer than learned
  // positions reach is an Error (exit code 4), a column that the family does not take an internal one.
  virtual Output forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) = 0;

  // A step of writing text: reads what the decoder is given (`decoder_input_ids` of a model that has an encoder, which
  // reads its own ids in the first step only) after what `cache` holds, and adds it there. Logits of what follows the
  // last place of each row, [B, L] in the compute dtype, without gradients. Padding may stand before a prompt (left).
  at::Tensor next_logits(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner);
  // The same of what follows each place of one row that is read, [T, L]. A place sees nothing of those behind it; its products may
  // be added up in another order than where it is read alone.
  at::Tensor logits_of_each(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner);
  // Whether it leaves in the cache what later steps see. One that does not is given whole texts each time:
  virtual bool remembers() const noexcept { return true; }
  // Logits of what follows place last[i] of row i, [B, L] in the compute dtype, without gradients. What stands behind that
  // place is seen by none before it.
  at::Tensor logits_behind(const Batch& batch, const at::Tensor& last, nn::UnitRunner& runner);

  const architectures::Architecture& architecture() const noexcept { return *architecture_; }
  const ModelOptions& options() const noexcept { return options_; }
  const std::vector<at::Tensor>& parameters() const noexcept { return parameters_; }
  const std::vector<std::string>& parameter_names() const noexcept { return names_; }
  // In forward order; a tied parameter is listed in every unit that uses it.
  const std::vector<nn::Unit>& units() const noexcept { return units_; }

  // All of InitialWeights, for a model whose parameters nobody has divided.
  void initialise(at::Generator generator);
  // Dropout and noise are active in training mode, which is also the mode after construction.
  void train(bool on) noexcept { training_ = on; }
  bool training() const noexcept { return training_; }
  // Changes the dtype of coming forward passes; the parameters stay as they are.
  void compute_in(at::ScalarType dtype) noexcept { options_.compute_dtype = dtype; }

 protected:
  // Maths of a unit (nn::UnitFunction says what it may do) over its parameters, matrices with their adapters.
  using UnitMaths = std::function<std::vector<at::Tensor>(nn::Parameters parameters, at::TensorList inputs)>;
  // Hands the unit to the runner; `maths` gets its parameters in the compute dtype.
  std::vector<at::Tensor> run(nn::UnitRunner& runner, const nn::Unit& unit, at::TensorList inputs,
                              const UnitMaths& maths) const;
  // A column that is passed over would be a batch trained wrongly: an internal Error names it. A token beyond the vocabulary, where
  // the host can see it, is an Error (exit code 4): on a device it is an assertion of a kernel, after which the process can do nothing.
  void check_columns(const Batch& batch, std::span<at::Tensor Batch::*const> not_taken) const;
  // embed_tokens, times `scale` rounded to the compute dtype, plus NEFTune noise. The row `padding`, where one is
  // named, gets no gradient.
  at::Tensor token_embedding(const nn::Parameter& table, const at::Tensor& ids,
                             std::optional<int64_t> padding = std::nullopt, double scale = 1) const;
  // A column of padding, undefined on a device where the host sees that it hides nothing: attention without a mask has kernels of its
  // own there. On a CPU attention looks for itself.
  static at::Tensor mask_that_hides(const Batch& batch, at::Tensor Batch::*column);
  // Whether a unit draws random numbers while training; one whose adapters drop out always does.
  void set_random(nn::Unit& unit, bool draws) const;
  // Of the text that is being written; null in training and evaluation.
  KeyValueCache* cache() const noexcept { return cache_; }
  // Places before the first that is given.
  int64_t past() const noexcept { return cache_ == nullptr ? 0 : cache_->length(); }
  // nn::attention of a layer that sees what stands before it, and remembers it while text is being written.
  at::Tensor attend_back(int64_t layer, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value, const nn::AttentionMask& mask,
                         const nn::AttentionOptions& options) const;
  // Of a model whose head looks at the first place of a row alone: whether this unit is a block whose other places nobody sees. Not
  // one that draws random numbers, which are drawn for each place as transformers does.
  bool is_seen_at_first_only(size_t unit) const noexcept {
    return unit + 2 == units_.size() && !(training_ && units_[unit].random);
  }
  // Query, key and value of x [B, T, C], by their weights and biases in this order, the biases all defined or all undefined. With
  // `first_only` the query is that of the first place, [B, 1, …].
  std::vector<at::Tensor> attention_inputs(const at::Tensor& x, nn::Parameters weights, at::TensorList biases,
                                           bool first_only) const;
  // A decoder's keys and values of the encoder's output: projected once for a text.
  KeysAndValues attend_to_encoder(int64_t layer, const std::function<KeysAndValues()>& project) const;
  // Scores times `scale`; of the weights `dropout` in training mode.
  nn::AttentionOptions attention_options(double scale, double dropout,
                                         std::optional<int64_t> window = {}) const noexcept {
    return {scale, active(dropout), window, products()};
  }
  // `p` in training mode, else 0.
  double active(double p) const noexcept { return training_ ? p : 0; }
  nn::Products products() const noexcept {
    return options_.kernels.rest == nn::Kernels::kReference ? nn::Products::kAten : nn::Products::kQuickest;
  }
  std::vector<nn::Unit> units_;

 private:
  at::Tensor read(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner,
                  const Objective& objective);
  // Both halves of an adapter, by their places among the parameters of its unit.
  struct AdapterPlace {
    size_t base = 0, down = 0, up = 0;
  };

  std::vector<AdapterPlace> adapter_places(const nn::Unit& unit) const;
  std::vector<at::Tensor> unit_parameters(const nn::Unit& unit) const;
  // What a unit's function was handed, as the maths takes it.
  std::vector<nn::Parameter> bind(const nn::Unit& unit, at::TensorList handed) const;

  std::shared_ptr<const architectures::Architecture> architecture_;
  ModelOptions options_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::string> names_;
  std::vector<std::vector<AdapterPlace>> adapters_;  // by unit; what they name comes last in its parameters
  bool training_ = true;
  KeyValueCache* cache_ = nullptr;
};

// The initial weights of a model, drawn one after the other in table order, on the CPU and in float32: every
// device and every layout starts from the same numbers, and one parameter at a time is in memory. Used by one
// thread.
class InitialWeights {
 public:
  // Positions in the table. Of `only` alone: just these may be asked for, and nothing is drawn for the others.
  using Positions = std::set<size_t>;
  // `table` must outlive the object.
  InitialWeights(const architectures::ParameterTable& table, at::Generator generator,
                 std::optional<Positions> only = std::nullopt);
  // The whole of parameter `index`; valid until the next call. Indices must not go back; those passed over
  // are drawn too.
  const at::Tensor& at(size_t index);

 private:
  at::Tensor make(const architectures::ParameterSpec& spec);

  const architectures::ParameterTable& table_;
  at::Generator generator_;
  std::optional<Positions> only_;
  size_t next_ = 0;  // to draw
  at::Tensor current_;
};

// The model of the architecture's family, parameters allocated and not initialised.
std::unique_ptr<Model> build_model(std::shared_ptr<const architectures::Architecture> architecture,
                                   const ModelOptions& options);

}  // namespace hftrain::models
