// Which trial of a search a run is, as trainer_state.json says it (is_hyper_param_search, trial_name, trial_params). The search
// tells each of its trials by a variable of the environment, which the trial's ranks inherit.
#pragma once

#include <optional>
#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/base/json.h"

namespace hftrain::reporting {

struct SearchTrial {
  std::string name;                  // trial-N
  Json parameters = Json::object();  // flags with the values that were chosen
};

void tell_trial(const SearchTrial& trial, Environment& environment);
// Nothing for a run that no search began.
std::optional<SearchTrial> told_trial(const Environment& environment);

}  // namespace hftrain::reporting
