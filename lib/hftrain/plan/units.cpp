#include "hftrain/plan/units.h"

#include <algorithm>

namespace hftrain::plan {
namespace {

constexpr const char* kWhole = "model";

int64_t numbers(const architectures::ParameterTable& table, const UnitPlan& unit) {
  int64_t count = 0;
  for (const int index : unit.parameters) count += table.parameters[static_cast<size_t>(index)].numel();
  return count;
}

std::vector<UnitPlan> parts(const architectures::ParameterTable& table) {
  std::vector<UnitPlan> units;
  for (const architectures::UnitSpec& unit : table.units) units.push_back({unit.name, {}, false});
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    units[static_cast<size_t>(table.parameters[i].unit)].parameters.push_back(static_cast<int>(i));
  }
  return units;
}

bool stands_alone(const architectures::ParameterTable& table, const UnitPlan& part,
                  const UnitRequest& request) {
  if (request.policy != WrapPolicy::kSize) return request.policy == WrapPolicy::kTransformer;
  return request.min_parameters > 0 && numbers(table, part) >= request.min_parameters;
}

}  // namespace

std::vector<UnitPlan> make_units(const architectures::ParameterTable& table, const UnitRequest& request) {
  std::vector<UnitPlan> units;
  UnitPlan rest{kWhole, {}, request.reshard};
  for (UnitPlan& part : parts(table)) {
    if (part.parameters.empty()) continue;
    if (!stands_alone(table, part, request)) {
      rest.parameters.insert(rest.parameters.end(), part.parameters.begin(), part.parameters.end());
      continue;
    }
    part.reshard_after_forward = request.reshard;
    units.push_back(std::move(part));
  }
  if (!rest.parameters.empty()) {
    const auto place = std::find_if(units.begin(), units.end(), [&](const UnitPlan& unit) {
      return unit.parameters.front() > rest.parameters.front();
    });
    units.insert(place, std::move(rest));
  }
  for (UnitPlan& unit : units) unit.numbers = numbers(table, unit);
  return units;
}

}  // namespace hftrain::plan
