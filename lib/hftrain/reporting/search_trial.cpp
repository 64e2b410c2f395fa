#include "hftrain/reporting/search_trial.h"

namespace hftrain::reporting {
namespace {

constexpr const char* kTrialVariable = "HFTRAIN_TRIAL";

}  // namespace

void tell_trial(const SearchTrial& trial, Environment& environment) {
  environment.set(kTrialVariable, dump_json({{"name", trial.name}, {"parameters", trial.parameters}}, -1));
}

std::optional<SearchTrial> told_trial(const Environment& environment) {
  const Json told = try_parse_json(environment.get_or(kTrialVariable, "")).value_or(Json());
  if (!told.is_object() || !told.contains("name") || !told["name"].is_string()) return std::nullopt;
  return SearchTrial{told["name"].get<std::string>(), told.value("parameters", Json::object())};
}

}  // namespace hftrain::reporting
