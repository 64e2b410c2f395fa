#include "hftrain/plan/optimizer_memory.h"

#include "hftrain/base/text.h"

namespace hftrain::plan {
namespace {

using architectures::ParameterSpec;

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

int64_t anyprecision_bytes_per_number(const OptimizerPlan& optimizer) {
  int64_t bytes = bytes_of(option(optimizer, "momentum_dtype", "float32")) +
                  bytes_of(option(optimizer, "variance_dtype", "float32"));
  if (is_on(optimizer, "use_kahan_summation")) {
    bytes += bytes_of(option(optimizer, "compensation_buffer_dtype", "bfloat16"));
  }
  return bytes;
}

// Numbers of state per number of a parameter.
int64_t copies(const OptimizerPlan& optimizer) {
  if (optimizer.name == "sgd") return has_momentum(optimizer) ? 1 : 0;
  if (optimizer.name == "adagrad" || optimizer.name == "lion_32bit") return 1;
  if (optimizer.name == "rmsprop")
    return 1 + (has_momentum(optimizer) ? 1 : 0) + (is_on(optimizer, "centered") ? 1 : 0);
  return 2;  // the two moments of Adam
}

}  // namespace

int64_t bytes_of(const std::string& dtype) {
  return dtype == "float32" ? 4 : 2;
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
