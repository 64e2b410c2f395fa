#include "hftrain/reporting/configuration.h"

#include <cmath>
#include <cstdint>

namespace hftrain::reporting {

Json configuration_of(const ReportedRun& run) {
  Json arguments = parse_json(run.arguments, "the arguments of the run");
  for (const char* interval : {"logging_steps", "eval_steps", "save_steps", "eval_delay"}) {
    const auto found = arguments.find(interval);
    if (found == arguments.end() || !found->is_number_float()) continue;
    const auto value = found->get<double>();
    if (std::trunc(value) == value) *found = static_cast<int64_t>(value);
  }
  Json all = run.model_config;
  for (const auto& [key, value] : arguments.items()) {
    if (!value.is_null() || !all.contains(key)) all[key] = value;
  }
  return all;
}

}  // namespace hftrain::reporting
