#include "hftrain/plan/optimizer_memory.h"

#include <algorithm>

#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

using architectures::ParameterSpec;

constexpr int64_t kFloatBytes = 4;

// An option's text as it was checked by the arguments module, or `otherwise`.
std::string option(const OptimizerPlan& optimizer, const std::string& name, const std::string& otherwise) {
  const auto found = optimizer.options.find(name);
  return found == optimizer.options.end() ? otherwise : found->second;
}

bool is_on(const OptimizerPlan& optimizer, const std::string& name) {
  const std::string word = to_lower(option(optimizer, name, "false"));
  return word == "true" || word == "1" || word == "yes";
}

bool has_momentum(const OptimizerPlan& optimizer) {
  return std::stod(option(optimizer, "momentum", "0")) > 0;
}

// One row and one column of second moments for a matrix (and for each matrix of a larger tensor), all of them
// else.
int64_t adafactor_numbers(const ParameterSpec& parameter) {
  const size_t dims = parameter.shape.size();
  if (dims < 2) return parameter.numel();
  return parameter.numel() / parameter.shape[dims - 1] + parameter.numel() / parameter.shape[dims - 2];
}

bool keeps(const OptimizerPlan& optimizer, const std::string& state) {
  const std::vector<std::string> states = states_by_options(optimizer);
  return std::find(states.begin(), states.end(), state) != states.end();
}

int64_t anyprecision_bytes_per_number(const OptimizerPlan& optimizer) {
  int64_t bytes = bytes_of(option(optimizer, "momentum_dtype", "float32")) +
                  bytes_of(option(optimizer, "variance_dtype", "float32"));
  if (keeps(optimizer, "compensation")) {
    bytes += bytes_of(option(optimizer, "compensation_buffer_dtype", "bfloat16"));
  }
  return bytes;
}

// Numbers of state per number of a parameter.
int64_t copies(const OptimizerPlan& optimizer) {
  const auto by_options = static_cast<int64_t>(states_by_options(optimizer).size());
  if (optimizer.name == "sgd") return by_options;
  if (optimizer.name == "adagrad" || optimizer.name == "lion_32bit") return 1;
  if (optimizer.name == "rmsprop") return 1 + by_options;
  return 2;  // the two moments of Adam
}

// Numbers of the largest list of parameters that are updated at once; those that decay and the others are never in one.
int64_t largest_list(const architectures::ParameterTable& table, int64_t number_bytes) {
  int64_t largest = 0;
  for (const bool decays : {true, false}) {
    int64_t list = 0;
    for (const ParameterSpec& parameter : table.parameters) {
      if (parameter.buffer || parameter.weight_decay != decays) continue;
      const bool fits = (list + parameter.numel()) * number_bytes <= kUpdateListBytes;
      list = fits ? list + parameter.numel() : parameter.numel();
      largest = std::max(largest, list);
    }
  }
  return largest;
}

// Numbers that are calculated beside each of a list: gradients that decay, roots or directions, and with a gate what it adds.
int64_t calculated(const OptimizerPlan& optimizer, bool gated) {
  const int64_t decays = optimizer.weight_decay != 0 ? 1 : 0;
  const bool momentum = keeps(optimizer, "momentum_buffer");
  const int64_t added = momentum && gated ? 1 : 0;
  if (optimizer.name == "sgd") return decays + added + (momentum && is_on(optimizer, "nesterov") ? 1 : 0);
  if (optimizer.name == "adagrad") return decays + 1;
  if (optimizer.name == "rmsprop") return decays + 1 + added;
  if (optimizer.name == "lion_32bit") return gated ? 2 : 1;
  return 0;  // LibTorch's kernel of Adam needs nothing
}

// Bytes beside each number of a list: roots, what a compensated sum has lost, and copies of all where one of them is no float32.
int64_t anyprecision_update_bytes(const OptimizerPlan& optimizer, int64_t master) {
  const int64_t roots = bytes_of(option(optimizer, "variance_dtype", "float32"));
  const bool kahan = keeps(optimizer, "compensation");
  const bool all_float =
      master == kFloatBytes && roots == kFloatBytes &&
      bytes_of(option(optimizer, "momentum_dtype", "float32")) == kFloatBytes &&
      (!kahan || bytes_of(option(optimizer, "compensation_buffer_dtype", "bfloat16")) == kFloatBytes);
  const int64_t copies = all_float ? 0 : master + anyprecision_bytes_per_number(optimizer);
  return copies + roots + (kahan ? master + (all_float ? master : 0) : 0);
}

}  // namespace

int64_t update_bytes(const OptimizerPlan& optimizer, const architectures::ParameterTable& table,
                     const std::string& master_dtype) {
  const int64_t master = bytes_of(master_dtype);
  if (optimizer.name == "adamw_anyprecision")
    return largest_list(table, master) * anyprecision_update_bytes(optimizer, master);
  if (optimizer.name == "adafactor") {  // one parameter at a time, which is copied
    int64_t largest = 0;
    for (const ParameterSpec& parameter : table.parameters)
      if (!parameter.buffer) largest = std::max(largest, parameter.numel());
    return 2 * largest * master;
  }
  // No gate leaves other types as they are: they are copied, with their states.
  const bool gated = master == kFloatBytes, copied = !gated && optimizer.name.rfind("adam", 0) != 0;
  const int64_t numbers = calculated(optimizer, gated) + (copied ? 1 + copies(optimizer) : 0);
  return largest_list(table, master) * master * numbers;
}

int64_t bytes_of(const std::string& dtype) {
  return dtype == "float32" ? 4 : 2;
}

std::vector<std::string> states_by_options(const OptimizerPlan& optimizer) {
  const std::string& name = optimizer.name;
  if (name == "adamw_anyprecision" && is_on(optimizer, "use_kahan_summation")) return {"compensation"};
  std::vector<std::string> states;
  if (name == "rmsprop" && is_on(optimizer, "centered")) states.emplace_back("grad_avg");
  if ((name == "rmsprop" || name == "sgd") && has_momentum(optimizer)) states.emplace_back("momentum_buffer");
  return states;
}

int64_t optimizer_state_bytes(const OptimizerPlan& optimizer, const architectures::ParameterTable& table,
                              const std::string& master_dtype) {
  if (optimizer.name == "adamw_anyprecision") return table.count() * anyprecision_bytes_per_number(optimizer);
  int64_t numbers = copies(optimizer) * table.count();
  if (optimizer.name == "adafactor") {
    numbers = 0;
    for (const ParameterSpec& parameter : table.parameters)
      numbers += parameter.buffer ? 0 : adafactor_numbers(parameter);
  }
  return numbers * bytes_of(master_dtype);
}

}  // namespace hftrain::plan
