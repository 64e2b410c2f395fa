#include "hftrain/architectures/adapter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

constexpr std::string_view kWeight = ".weight";

// "q_proj" names "…self_attn.q_proj", as do "self_attn.q_proj" and the whole name.
bool names_module(const std::string& target, const std::string& module) {
  return module == target || module.ends_with('.' + target);
}

// The module of a weight; empty for other parameters.
std::string module_of(const std::string& name) {
  return name.ends_with(kWeight) ? name.substr(0, name.size() - kWeight.size()) : "";
}
std::string module_of(const ParameterSpec& spec) {
  return module_of(spec.name);
}

// As the files of a model call it, or as its modules are called in memory.
bool names_module(const std::string& target, const ParameterSpec& spec) {
  return names_module(target, module_of(spec)) || names_module(target, module_of(name_in_memory(spec)));
}

bool belongs_to(const ParameterSpec& spec, const std::string& target) {
  return lies_within(spec.name, target) || lies_within(name_in_memory(spec), target);
}

bool names_any(const std::vector<std::string>& targets, const ParameterSpec& spec) {
  return std::ranges::any_of(targets, [&](const std::string& target) { return names_module(target, spec); });
}

bool is_saved(const AdapterSpec& spec, const std::string& name) {
  return std::ranges::any_of(spec.saved_modules,
                             [&](const std::string& module) { return lies_within(name, module); });
}

bool is_saved(const AdapterSpec& spec, const ParameterSpec& parameter) {
  return std::ranges::any_of(spec.saved_modules,
                             [&](const std::string& module) { return belongs_to(parameter, module); });
}

bool is_matrix(const ParameterTable& table, const std::string& name) {
  return std::ranges::find(table.parameters, name, &ParameterSpec::name)->shape.size() == 2;
}

// A projection of a block, a pooler, or what stands before the matrix of a head that gives its outputs.
bool can_be_adapted(const ParameterTable& table, const ParameterSpec& spec) {
  const bool projects =
      spec.head ? !spec.gives_outputs : table.units[static_cast<size_t>(spec.unit)].repeated;
  return projects && spec.shape.size() == 2 && !spec.embedding && !spec.buffer && !module_of(spec).empty();
}

// Last parts of the names of all modules that can have an adapter.
std::vector<std::string> known_targets(const ParameterTable& table) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : table.parameters) {
    if (!can_be_adapted(table, spec)) continue;
    const std::string module = module_of(name_in_memory(spec)), name = module.substr(module.rfind('.') + 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

constexpr const char* kByMerging =
    "hftrain checkpoint merge, or peft's merge_and_unload(), makes a plain model of it";
// Of embeddings and tied matrices.
constexpr const char* kByPeft = "peft's merge_and_unload() makes a plain model of it";
constexpr const char* kByPeftUntied =
    "peft's merge_and_unload(), over a base model whose tie_word_embeddings is false, makes a plain model of "
    "it";

// Of an adapter's file, or of the flag that asks for one.
Error cannot(const AdapterSpec& spec, const std::string& what, const std::string& why,
             const std::string& hint) {
  const bool of_file = !spec.origin.empty();
  return Error(of_file ? ExitCode::kData : ExitCode::kUsage, what)
      .where(of_file ? spec.origin : "lora_target_modules")
      .why(why)
      .hint(hint);
}

// A tied matrix that a module of this name has under its other name; null: none has.
const TiedParameter* tied_module(const ParameterTable& table, const std::string& target) {
  const auto found = std::ranges::find_if(
      table.tied, [&](const TiedParameter& tied) { return names_module(target, module_of(tied.alias)); });
  return found == table.tied.end() ? nullptr : &*found;
}

Error without_adapter(const ParameterTable& table, const AdapterSpec& spec, const std::string& target,
                      const TiedParameter* tied, bool embeds) {
  const std::string whole = tied != nullptr ? module_of(tied->parameter) : target;
  return cannot(spec, "module '" + target + "' can have no adapter",
                "adapters stand beside projections; embeddings, norms and what gives the outputs have none",
                spec.origin.empty()          ? "--lora_modules_to_save " + whole + " trains it whole"
                : tied == nullptr && !embeds ? kByMerging
                : table.tied.empty()         ? kByPeft
                                             : kByPeftUntied);
}

void check_target(const ParameterTable& table, const AdapterSpec& spec, const std::string& target,
                  const std::string& model) {
  const TiedParameter* tied = tied_module(table, target);
  bool named = false, refused = tied != nullptr, embeds = false;
  for (const ParameterSpec& parameter : table.parameters) {
    if (module_of(parameter).empty() || !names_module(target, parameter)) continue;
    // peft's all-linear names the output within a classifier, too, which it saves whole and adapts nowhere.
    if (!spec.origin.empty() && is_saved(spec, parameter) && !parameter.embedding) continue;
    (can_be_adapted(table, parameter) ? named : refused) = true;
    embeds = embeds || parameter.embedding;
  }
  if (refused) throw without_adapter(table, spec, target, tied, embeds);
  if (named || !spec.origin.empty()) return;
  throw cannot(spec, "no module of the model is called '" + target + "'",
               model + " has " + join(known_targets(table), ", "),
               "names or endings of modules, or " + std::string(kAllLinear));
}

void check_targets(const ParameterTable& table, const AdapterSpec& spec, const std::string& model) {
  for (const std::string& target : spec.targets) {
    if (target != kAllLinear) check_target(table, spec, target, model);
  }
}

Error beside_nothing(const ParameterTable& table, const AdapterSpec& spec, const std::string& model) {
  const bool of_file = !spec.origin.empty();
  return cannot(spec, "the adapter would stand beside no module of the model",
                join(spec.targets, ", ") + " is none of " + model + "'s that are not trained whole; it has " +
                    join(known_targets(table), ", "),
                of_file ? "the base model that it was made for, as base_model_name_or_path"
                        : "other modules, or fewer of them as --lora_modules_to_save");
}

bool holds_module(const ParameterTable& table, const std::string& target) {
  return std::ranges::any_of(table.parameters, [&](const ParameterSpec& spec) {
    return !spec.adapts && !spec.buffer && belongs_to(spec, target);
  });
}

// Of a model that classifies peft writes both of its names of a head, and the model has one of them.
bool is_other_name_of_head(const ParameterTable& table, const AdapterSpec& spec, const std::string& target) {
  const std::array<std::string, 2> kNames = {"classifier", "score"};
  if (std::ranges::count(kNames, target) == 0) return false;
  return std::ranges::any_of(kNames, [&](const std::string& name) {
    return std::ranges::count(spec.saved_modules, name) > 0 && holds_module(table, name);
  });
}

Error trained_apart(const TiedParameter& tied) {
  return Error(ExitCode::kData, "the adapter has two matrices where the model has one")
      .where("modules_to_save of the adapter")
      .why("'" + tied.parameter + "' is '" + tied.alias + "', too, and peft trained a copy of the one and " +
           "left the other as it was: ensure_weight_tying of its config is not true, or the module's "
           "name is none of which peft takes it")
      .hint("merge it by peft's merge_and_unload() into a model whose tie_word_embeddings is false, " +
            std::string("or train it with ensure_weight_tying and lm_head as the module"));
}

// Thrown where nothing of that name can be saved; of a file what is no matrix under its other name is passed over.
void refuse_module_to_save(const ParameterTable& table, const AdapterSpec& spec, const std::string& target,
                           const std::string& model) {
  const auto tied = std::ranges::find_if(
      table.tied, [&](const TiedParameter& each) { return lies_within(each.alias, target); });
  if (tied == table.tied.end()) {
    if (!spec.origin.empty()) return;
    throw Error(ExitCode::kUsage,
                "no module of the model with parameters of its own is called '" + target + "'")
        .where("lora_modules_to_save")
        .why("the model is " + model + ", whose parameters end with " + table.parameters.back().name)
        .hint("names or endings of modules");
  }
  if (!spec.origin.empty()) throw trained_apart(*tied);
  throw Error(ExitCode::kUsage, "'" + target + "' has no parameters of its own in this model")
      .where("lora_modules_to_save")
      .why("its config ties them: '" + tied->alias + "' is '" + tied->parameter + "'")
      .hint("the module of '" + tied->parameter + "' in its place, which is trained as both");
}

void append(ParameterTable& table, size_t position, const AdapterSpec& spec) {
  const ParameterSpec base = table.parameters[position];
  const int64_t in = base.shape[base.input_first ? 0 : 1], out = base.shape[base.input_first ? 1 : 0];
  const auto half = [&](const char* name, std::vector<int64_t> shape, Init init, AdapterHalf which) {
    ParameterSpec added{module_of(base) + name, std::move(shape), init, base.unit};
    added.adapts = {static_cast<int>(position), which};
    if (name_in_memory(base) != base.name) added.other_names = {module_of(name_in_memory(base)) + name};
    table.parameters.push_back(std::move(added));
  };
  // torch.nn.Linear's kaiming_uniform_ with a = sqrt(5).
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  half(".lora_A.weight", {spec.rank, in}, {InitKind::kUniform, bound}, AdapterHalf::kDown);
  half(".lora_B.weight", {out, spec.rank}, {InitKind::kZeros, 0}, AdapterHalf::kUp);
}

// Positions of the matrices that get an adapter.
std::vector<size_t> adapted_places(const ParameterTable& table, const AdapterSpec& spec,
                                   const std::string& model) {
  check_targets(table, spec, model);
  const bool all = std::ranges::count(spec.targets, kAllLinear) > 0;
  std::vector<size_t> places;
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& parameter = table.parameters[i];
    if (!can_be_adapted(table, parameter) || is_saved(spec, parameter)) continue;
    if (all || names_any(spec.targets, parameter)) places.push_back(i);
  }
  if (places.empty() && !spec.targets.empty()) throw beside_nothing(table, spec, model);
  return places;
}

}  // namespace

std::vector<TiedParameter> tied_and_saved(const ParameterTable& table, const AdapterSpec& spec) {
  std::vector<TiedParameter> found;
  std::ranges::copy_if(table.tied, std::back_inserter(found), [&](const TiedParameter& tied) {
    return is_saved(spec, tied.parameter) && is_matrix(table, tied.parameter);
  });
  return found;
}

std::vector<std::string> second_modules_of_saved(const ParameterTable& table, const AdapterSpec& spec) {
  std::vector<std::string> modules;
  if (!spec.tied_as_one) return modules;
  for (const TiedParameter& tied : tied_and_saved(table, spec)) {
    if (!is_saved(spec, tied.alias)) modules.push_back(module_of(tied.alias));
  }
  return modules;
}

std::vector<TiedParameter> second_names(const ParameterTable& table) {
  std::vector<TiedParameter> names = table.tied;
  for (const ParameterSpec& parameter : table.parameters) {
    if (!parameter.head) continue;  // of the body: what other releases call it
    for (const std::string& other : parameter.other_names)
      names.push_back({other, parameter.name, parameter.unit});
  }
  return names;
}

namespace {

// Whether peft has trained the two as one and written both. peft 0.21 goes by the last part of a module's name
// (EMBEDDING_LAYER_NAMES of its utils/constants.py), and names the module in full then.
bool is_tied_in_file(const ParameterTable& table, const AdapterSpec& spec, const TiedParameter& second) {
  constexpr std::array<std::string_view, 2> kNames = {"embed_tokens", "lm_head"};
  const bool tied = std::ranges::count(table.tied, second.alias, &TiedParameter::alias) > 0;
  const bool named = std::ranges::any_of(spec.saved_modules, [&](const std::string& module) {
    return module == module_of(second.parameter) ||
           std::ranges::count(kNames, std::string_view(module).substr(module.rfind('.') + 1)) > 0;
  });
  return spec.peft_ties && tied && named && is_saved(spec, second.parameter);
}

// Of a tied matrix, beside the name that the model has it under: the file has both, and they are one here.
bool is_second_name_of_saved(const ParameterTable& table, const AdapterSpec& spec,
                             const std::string& target) {
  return spec.tied_as_one && std::ranges::any_of(table.tied, [&](const TiedParameter& tied) {
           return lies_within(tied.alias, target) && is_saved(spec, tied.parameter);
         });
}

void refuse_trained_apart(const ParameterTable& table, const AdapterSpec& spec) {
  if (spec.tied_as_one) return;
  for (const TiedParameter& tied : tied_and_saved(table, spec)) {
    if (!is_tied_in_file(table, spec, tied)) throw trained_apart(tied);
  }
}

}  // namespace

std::vector<SavedCopy> saved_copies(const ParameterTable& table, const AdapterSpec& spec) {
  std::vector<SavedCopy> copies;
  const AdapterSpec of_second{.saved_modules = second_modules_of_saved(table, spec)};
  for (const TiedParameter& second : second_names(table)) {
    const bool by_peft = is_tied_in_file(table, spec, second);
    if (!by_peft && !is_saved(spec, second.alias) && !is_saved(of_second, second.alias)) continue;
    const auto found = std::ranges::find(table.parameters, second.parameter, &ParameterSpec::name);
    copies.push_back({static_cast<size_t>(found - table.parameters.begin()), second.alias, by_peft});
  }
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& parameter = table.parameters[i];
    if (!parameter.buffer && is_saved(of_second, parameter) && !is_saved(spec, parameter))
      copies.push_back({i, name_in_memory(parameter)});
  }
  return copies;
}

bool is_of_wrapper(const std::string& tensor) {
  return tensor.find(".modules_to_save.") != std::string::npos ||
         tensor.find(".original_module.") != std::string::npos;
}

bool is_named(const AdapterSpec& spec, const std::string& tensor) {
  if (is_of_wrapper(tensor)) return false;
  const size_t half = tensor.find(".lora_");
  if (half == std::string::npos) return is_saved(spec, tensor);
  const std::string module = tensor.substr(0, half);
  return std::ranges::any_of(spec.targets,
                             [&](const std::string& target) { return names_module(target, module); });
}

double AdapterSpec::scale() const {
  const auto r = static_cast<double>(rank);
  return alpha / (rank_stabilised ? std::sqrt(r) : r);
}

void append_adapters(ParameterTable& table, const AdapterSpec& spec, const std::string& model) {
  for (const size_t place : adapted_places(table, spec, model)) append(table, place, spec);
}

std::vector<std::string> adapted_modules(const ParameterTable& table, const AdapterSpec& spec,
                                         const std::string& model) {
  std::vector<std::string> modules;
  for (const size_t place : adapted_places(table, spec, model))
    modules.push_back(module_of(table.parameters[place]));
  return modules;
}

std::vector<int> saved_whole(const ParameterTable& table, const AdapterSpec& spec, const std::string& model) {
  std::vector<int> positions;
  refuse_trained_apart(table, spec);
  for (const std::string& target : spec.saved_modules) {
    const size_t before = positions.size();
    for (size_t i = 0; i < table.parameters.size(); ++i) {
      const ParameterSpec& parameter = table.parameters[i];
      if (!parameter.adapts && !parameter.buffer && belongs_to(parameter, target))
        positions.push_back(static_cast<int>(i));
    }
    if (positions.size() > before || is_other_name_of_head(table, spec, target)) continue;
    if (is_second_name_of_saved(table, spec, target)) continue;
    refuse_module_to_save(table, spec, target, model);
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace hftrain::architectures
