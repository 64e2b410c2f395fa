#include "hftrain/models/model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <map>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/nn/cast_together.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/product.h"
#include "hftrain/nn/without_memory.h"

namespace hftrain::models {
namespace {

std::vector<nn::Unit> units_of(const architectures::ParameterTable& table) {
  std::vector<nn::Unit> units(table.units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].index = static_cast<int>(i);
    units[i].name = table.units[i].name;
    units[i].repeated = table.units[i].repeated;
  }
  std::map<std::string, int> positions;
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const auto& spec = table.parameters[i];
    positions[spec.name] = static_cast<int>(i);
    if (!spec.adapts) units.at(static_cast<size_t>(spec.unit)).parameters.push_back(static_cast<int>(i));
  }
  for (const auto& tie : table.tied) {
    std::vector<int>& used = units.at(static_cast<size_t>(tie.unit)).parameters;
    const int position = positions.at(tie.parameter);
    if (std::find(used.begin(), used.end(), position) == used.end()) used.push_back(position);
  }
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const auto& spec = table.parameters[i];
    if (spec.adapts) units.at(static_cast<size_t>(spec.unit)).parameters.push_back(static_cast<int>(i));
  }
  return units;
}

double constant_of(const architectures::Init& init) {
  if (init.kind == architectures::InitKind::kConstant) return init.std;
  return init.kind == architectures::InitKind::kOnes ? 1 : 0;
}

void require_tokens(const at::Tensor& ids, int64_t vocabulary) {
  if (!ids.defined() || !ids.is_cpu() || ids.numel() == 0) return;
  const auto [lowest, highest] = at::aminmax(ids);
  const int64_t low = lowest.item<int64_t>(), high = highest.item<int64_t>();
  if (low >= 0 && high < vocabulary) return;
  throw Error(ExitCode::kData, "token " + std::to_string(low < 0 ? low : high) + " is out of range")
      .where("a batch of the data")
      .why("the model's vocabulary has " + std::to_string(vocabulary) + " entries: tokens are 0 to " +
           std::to_string(vocabulary - 1))
      .hint("use the tokenizer, or the prepared tokens, that belong to the model");
}

}  // namespace

Model::Model(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options)
    : units_(units_of(architecture->parameters())),
      architecture_(std::move(architecture)),
      options_(options) {
  const auto leaf = at::TensorOptions().device(options.device);
  for (const auto& spec : architecture_->parameters().parameters) {
    const at::ScalarType dtype = spec.adapts ? at::kFloat : options.parameter_dtype;
    const at::TensorOptions typed = leaf.dtype(dtype);
    const at::Tensor values =
        options.allocated ? at::empty(spec.shape, typed) : nn::without_memory(spec.shape, typed);
    parameters_.push_back(values.requires_grad_(!spec.buffer));
    names_.push_back(spec.name);
  }
  for (const int position : options.frozen)
    parameters_.at(static_cast<size_t>(position)).requires_grad_(false);
  for (const nn::Unit& unit : units_) adapters_.push_back(adapter_places(unit));
}

std::vector<Model::AdapterPlace> Model::adapter_places(const nn::Unit& unit) const {
  const auto& specs = architecture_->parameters().parameters;
  std::vector<AdapterPlace> places;
  for (size_t i = 0; i < unit.parameters.size(); ++i) {
    const auto& adapts = specs[static_cast<size_t>(unit.parameters[i])].adapts;
    if (!adapts || adapts->half != architectures::AdapterHalf::kDown) continue;
    const auto base = std::find(unit.parameters.begin(), unit.parameters.end(), adapts->parameter);
    places.push_back({static_cast<size_t>(base - unit.parameters.begin()), i, i + 1});
  }
  return places;
}

void Model::set_random(nn::Unit& unit, bool draws) const {
  const bool adapted = !adapters_[static_cast<size_t>(unit.index)].empty();
  unit.random = draws || (adapted && architecture_->adapter()->dropout > 0);
}

std::vector<nn::Parameter> Model::bind(const nn::Unit& unit, at::TensorList handed) const {
  const std::vector<AdapterPlace>& places = adapters_[static_cast<size_t>(unit.index)];
  const at::ScalarType dtype = options().compute_dtype;
  // On a CPU a product may take them as they are stored. Outside of blocks there are tables, of which rows are cast.
  const bool together = unit.repeated && !handed.empty() && !handed.front().is_cpu();
  const std::vector<at::Tensor> cast = together ? nn::cast_together(handed, dtype) : handed.vec();
  const auto parameter = [&](size_t place, std::optional<nn::LowRank> adapter = std::nullopt) {
    return nn::Parameter(handed[place], dtype, together ? cast[place].to(dtype) : at::Tensor(),
                         std::move(adapter));
  };
  std::vector<nn::Parameter> bound;
  for (size_t i = 0; i < handed.size() - 2 * places.size(); ++i) bound.push_back(parameter(i));
  for (const AdapterPlace& place : places) {
    const architectures::AdapterSpec& adapter = *architecture_->adapter();
    bound[place.base] = parameter(place.base, nn::LowRank{.down = cast[place.down].to(dtype),
                                                          .up = cast[place.up].to(dtype),
                                                          .scale = adapter.scale(),
                                                          .dropout = active(adapter.dropout)});
  }
  return bound;
}

std::vector<at::Tensor> Model::unit_parameters(const nn::Unit& unit) const {
  std::vector<at::Tensor> result;
  result.reserve(unit.parameters.size());
  for (const int index : unit.parameters) result.push_back(parameters_[static_cast<size_t>(index)]);
  return result;
}

std::vector<at::Tensor> Model::run(nn::UnitRunner& runner, const nn::Unit& unit, at::TensorList inputs,
                                   const UnitMaths& maths) const {
  return runner.run(unit, unit_parameters(unit), inputs,
                    [this, &unit, maths](at::TensorList parameters, at::TensorList given) {
                      return maths(bind(unit, parameters), given);
                    });
}

void Model::check_columns(const Batch& batch, std::span<at::Tensor Batch::*const> not_taken) const {
  for (const BatchColumn& column : kBatchColumns) {
    const bool taken = std::find(not_taken.begin(), not_taken.end(), column.member) == not_taken.end();
    if (!taken && (batch.*column.member).defined())
      throw Error(ExitCode::kInternal,
                  architecture().model_type() + " takes no column " + std::string(column.name));
  }
  require_tokens(on_host(batch).input_ids, architecture().vocab_size());
  require_tokens(on_host(batch).decoder_input_ids, architecture().vocab_size());
}

at::Tensor Model::mask_that_hides(const Batch& batch, at::Tensor Batch::*column) {
  const at::Tensor &mask = batch.*column, &seen = on_host(batch).*column;
  const bool looks = mask.defined() && !mask.is_cpu() && seen.is_cpu();
  return looks && seen.ne(0).all().item<bool>() ? at::Tensor() : mask;
}

// The rows are cast, not the table.
at::Tensor Model::token_embedding(const nn::Parameter& table, const at::Tensor& ids,
                                  std::optional<int64_t> padding, double scale) const {
  at::Tensor x = nn::embed_tokens(table.stored(), ids, padding).to(options().compute_dtype);
  if (scale != 1) x = x * at::scalar_tensor(scale, x.options());
  return active(options().neftune_alpha) == 0 ? x : nn::add_neftune_noise(x, options().neftune_alpha);
}

at::Tensor Model::read(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner,
                       const Objective& objective) {
  struct Writing {
    KeyValueCache*& place;
    ~Writing() { place = nullptr; }
  };
  const at::NoGradGuard no_grad;
  const nn::NarrowProducts narrow;
  const bool encodes = batch.decoder_input_ids.defined();
  cache.begin(encodes ? batch.decoder_input_ids : batch.input_ids,
              encodes ? batch.decoder_attention_mask : batch.attention_mask);
  cache_ = &cache;
  const Writing writing{cache_};
  Output output = forward(batch, runner, objective);
  cache.end();
  return output.logits;
}

at::Tensor Model::next_logits(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner) {
  return read(batch, cache, runner, last_logits());
}

at::Tensor Model::logits_of_each(const Batch& batch, KeyValueCache& cache, nn::UnitRunner& runner) {
  return read(batch, cache, runner, logits_only()).flatten(0, 1);
}

at::Tensor Model::logits_behind(const Batch& batch, const at::Tensor& last, nn::UnitRunner& runner) {
  const at::NoGradGuard no_grad;
  const nn::NarrowProducts narrow;
  return forward(batch, runner, logits_at(last)).logits;
}

at::Tensor Model::attend_back(int64_t layer, const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, const nn::AttentionMask& mask,
                              const nn::AttentionOptions& options) const {
  if (cache_ == nullptr) return nn::attention(query, key, value, mask, options);
  const KeysAndValues all = cache_->append(layer, key, value);
  nn::AttentionMask behind = mask;
  behind.past = cache_->length();
  return nn::attention(query, all.keys, all.values, behind, options);
}

std::vector<at::Tensor> Model::attention_inputs(const at::Tensor& x, nn::Parameters weights,
                                                at::TensorList biases, bool first_only) const {
  const nn::Kernels kernels = options_.kernels.rest;
  if (!first_only) return nn::linear_many(x, weights, biases, kernels, products());
  std::vector<at::Tensor> projected{nn::linear(x.narrow(1, 0, 1), weights[0], biases[0], products())};
  for (at::Tensor& one : nn::linear_many(x, weights.slice(1), biases.slice(1), kernels, products()))
    projected.push_back(std::move(one));
  return projected;
}

KeysAndValues Model::attend_to_encoder(int64_t layer, const std::function<KeysAndValues()>& project) const {
  return cache_ == nullptr ? project() : cache_->of_encoder(layer, project);
}

void Model::initialise(at::Generator generator) {
  const at::NoGradGuard no_grad;
  InitialWeights weights(architecture_->parameters(), std::move(generator));
  for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(weights.at(i));
}

InitialWeights::InitialWeights(const architectures::ParameterTable& table, at::Generator generator,
                               std::optional<Positions> only)
    : table_(table), generator_(std::move(generator)), only_(std::move(only)) {}

at::Tensor InitialWeights::make(const architectures::ParameterSpec& spec) {
  using architectures::InitKind;
  if (spec.init.kind == InitKind::kSinusoids) return nn::sinusoids(spec.shape[0], spec.shape[1]);
  at::Tensor weights = at::empty(spec.shape, at::TensorOptions().dtype(at::kFloat));
  if (spec.init.kind == InitKind::kUniform)
    return weights.uniform_(-spec.init.std, spec.init.std, generator_);
  if (spec.init.kind != InitKind::kNormal) return weights.fill_(constant_of(spec.init));
  weights.normal_(0, spec.init.std, generator_);
  if (spec.init.zero_row >= 0) weights.select(0, spec.init.zero_row).zero_();
  return weights;
}

const at::Tensor& InitialWeights::at(size_t index) {
  for (; next_ <= index; ++next_) {
    const architectures::ParameterSpec& spec = table_.parameters[next_];
    const bool drawn = spec.init.kind == architectures::InitKind::kNormal ||
                       spec.init.kind == architectures::InitKind::kUniform;
    if ((!drawn || (only_ && only_->count(next_) == 0)) && next_ != index) continue;
    current_ = at::Tensor();  // freed before the next is made
    current_ = make(spec);
  }
  return current_;
}

}  // namespace hftrain::models
