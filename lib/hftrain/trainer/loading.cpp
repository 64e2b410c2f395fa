// Trainer: the weights that a run begins with.
#include <algorithm>
#include <set>

#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

// Whether a folder says that its model has this head. One that says nothing may be of any, as transformers takes it.
bool names_class_of(const std::string& folder, const Json& config) {
  const std::string path = folder + "/config.json";
  const Json saved = path_exists(path) ? read_json_file(path) : Json();
  const Json classes = json_member(saved, "architectures");
  return classes.is_array() && !classes.empty() && classes.front() == config.at("architectures").front();
}

}  // namespace

void Trainer::load() {
  const std::string& resume_from = plan_.saving.resume_from;
  const std::optional<plan::AdapterPlan>& adapter = plan_.model.adapter;
  const std::string& folder = resume_from.empty() || adapter ? plan_.model.source_folder : resume_from;
  if (folder.empty()) {
    draw_initial_weights(std::nullopt);
  } else {
    load_weights_of(folder);
  }
  if (adapter && !resume_from.empty()) {
    loader_->load_saved(resume_from);
  } else if (adapter && !adapter->folder.empty()) {
    loader_->load_adapter_of(adapter->folder);
  }
  peak_host_bytes_loading_ = runtime::host_memory().peak_resident;  // before the optimizer's state is made
  // Model creation draws numbers that a resumed run does not; both start training from the same place.
  runtime::seed_generators(plan_.seed, *context_.device_runtime, context_.device);
  const double begin = monotonic_seconds();
  strategy_->prepare();
  preparation_seconds_ = monotonic_seconds() - begin;
  if (!resume_from.empty()) resume(resume_from);
}

// A model that is opened for another task than it was saved from gets a new head.
void Trainer::load_weights_of(const std::string& folder) {
  checkpoint::OpeningRules rules;
  if (folder != plan_.saving.resume_from) {
    const bool same = names_class_of(folder, plan_.model.config);
    rules.head = same ? checkpoint::StoredHead::kThisOne : checkpoint::StoredHead::kAnother;
    rules.ignore_mismatched_sizes = plan_.model.ignore_mismatched_sizes;
    rules.told = true;
    rules.grown = plan_.model.grown;
    rules.compared = dtype_named(plan_.model.tied_dtype);
    rules.generator = context_.device_runtime->generator(c10::Device(c10::DeviceType::CPU));
  }
  const checkpoint::LoadedWeights loaded = loader_->load_model(folder, rules);
  std::set<std::string> left(loaded.missing.begin(), loaded.missing.end());
  for (const auto& mismatch : loaded.mismatched) left.insert(mismatch.name);
  left.insert(loaded.adapters.begin(), loaded.adapters.end());
  models::InitialWeights::Positions only;
  const auto& table = model_->architecture().parameters().parameters;
  for (size_t i = 0; i < table.size(); ++i) {
    if (left.count(table[i].name) > 0) only.insert(i);
  }
  if (!only.empty()) draw_initial_weights(only);
  if (speaks()) say_what_differs(folder, loaded);
}

// Whether what is opened after the base model's weights fills the parameter.
bool Trainer::held_by_adapter(const std::string& name) const {
  const std::optional<plan::AdapterPlan>& adapter = plan_.model.adapter;
  if (!adapter || (plan_.saving.resume_from.empty() && adapter->folder.empty())) return false;
  const auto& table = model_->architecture().parameters().parameters;
  const auto spec = std::ranges::find(table, name, &architectures::ParameterSpec::name);
  return !std::ranges::binary_search(plan_.model.frozen, static_cast<int>(spec - table.begin()));
}

void Trainer::say_what_differs(const std::string& folder, const checkpoint::LoadedWeights& loaded) {
  const auto warn = [&](const std::string& name, const std::string& what) {
    events_.message(LogLevel::kWarning, "'" + name + "' " + what);
  };
  for (const std::string& name : loaded.unused) warn(name, "of " + folder + " is not used by this model");
  for (const std::string& name : loaded.missing) {
    if (!held_by_adapter(name)) warn(name, "is not in " + folder + " and starts from random numbers");
  }
  for (const auto& [name, stored, wanted] : loaded.mismatched) {
    if (held_by_adapter(name)) continue;
    warn(name, "of " + folder + " has the shape " + plan::shape_text(stored) + " and not " +
                   plan::shape_text(wanted) + ": it starts from random numbers");
  }
}

void Trainer::draw_initial_weights(const std::optional<models::InitialWeights::Positions>& only) {
  const architectures::ParameterTable& table = model_->architecture().parameters();
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < table.parameters.size(); ++i) positions[table.parameters[i].name] = i;
  models::InitialWeights weights(table, context_.device_runtime->generator(c10::Device(c10::DeviceType::CPU)),
                                 only);
  const at::NoGradGuard no_grad;
  strategy_->visit_parameters(
      [&](const parallel::StatePart& part) {
        const size_t position = positions.at(part.parameter);
        if (only && only->count(position) == 0) return;
        at::Tensor box = weights.at(position);
        for (size_t dim = 0; dim < part.offset.size(); ++dim) {
          const auto d = static_cast<int64_t>(dim);
          box = box.narrow(d, part.offset[dim], part.tensor.size(d));
        }
        part.tensor.copy_(box);
      },
      parallel::Access::kWrite);
}

}  // namespace hftrain::trainer
